//! Shape rules of elementwise operations.
//!
//! If the shape is omitted, scalars and sizes of 1 are broadcast as in XLA's parser, and the element type with the
//! larger range is chosen.

use layout::{ElementKind, ElementType, UNBOUNDED};

use super::{are_mixable, dim, require, sizes, Check, Dim, Inference, Operation};
use crate::model::float::Format;

impl Operation<'_> {
    /// The common shape of the operands, with element type `to` if the operation has its own.
    pub(super) fn elementwise(&self, to: Option<ElementType>) -> Inference {
        let first = self.array(0)?;
        let mut element = first.element();
        let is_omitted = self.written.is_none();
        for k in 1..self.operands.len() {
            let other = self.array(k)?;
            let fits = is_omitted || other.dims() == first.dims();
            self.agree(0, k, fits && are_mixable(element, other.element()))?;
            if is_omitted {
                element = higher(element, other.element());
            }
        }
        let element = to.unwrap_or(element);
        if !is_omitted {
            return self.like(element, 0);
        }
        let dims = self.stretched()?;
        let is_whole = |k| self.dims(k).is_ok_and(|other| other == first.dims());
        if (1..self.operands.len()).all(is_whole) {
            return self.resized(first, element, dims).map(Some);
        }
        self.result(element, dims)
    }

    /// The sizes of the operands after broadcasting of scalars and sizes of 1; ranks must be equal otherwise.
    fn stretched(&self) -> Check<Vec<Dim>> {
        let mut dims: Vec<Dim> = Vec::new();
        for k in 0..self.operands.len() {
            let other = self.array(k)?;
            if other.rank() == 0 || dims.is_empty() {
                dims = if dims.is_empty() { sizes(other).collect() } else { dims };
                continue;
            }
            self.agree(0, k, other.rank() == dims.len())?;
            for (d, known) in dims.iter_mut().enumerate() {
                let other = dim(other, d);
                let can_stretch = |d: &Dim| d.size == 1 || d.size == i128::from(UNBOUNDED);
                if known.size == other.size {
                    known.is_dynamic |= other.is_dynamic;
                } else if !can_stretch(&other) {
                    self.agree(0, k, can_stretch(known))?;
                    *known = other;
                }
            }
        }
        Ok(dims)
    }

    pub(super) fn stochastic_convert(&self) -> Inference {
        self.equal_sizes(2)?;
        self.like(self.written_element().unwrap_or(self.array(0)?.element()), 0)
    }

    /// `real`, `imag` and the absolute value of a complex number. A real number is its own real part.
    pub(super) fn part_of_complex(&self) -> Inference {
        self.like(real_part(self.array(0)?.element()), 0)
    }

    pub(super) fn absolute(&self) -> Inference {
        match self.array(0)?.element().kind() {
            ElementKind::Complex => self.part_of_complex(),
            _ => self.elementwise(None),
        }
    }

    pub(super) fn complex(&self) -> Inference {
        let part = self.array(0)?.element();
        let element = complex_of(part);
        require(element.is_some(), format_args!("complex numbers of {}, expected f32 or f64", part.name()))?;
        self.agree(0, 1, self.array(1)?.element() == part)?;
        self.elementwise(element)
    }

    pub(super) fn select(&self) -> Inference {
        // A scalar predicate may select between tuples or tokens.
        if self.written.is_some() && self.operand(1)?.as_array().is_none() {
            self.agree(1, 2, self.operands[1].same_dims(self.operand(2)?))?;
            return self.as_operand(1);
        }
        let (predicate, on_true, on_false) = (self.array(0)?, self.array(1)?, self.array(2)?);
        let fits = predicate.rank() == 0 || predicate.dims() == on_true.dims();
        let is_predicate = predicate.element() == ElementType::Pred && fits;
        require(is_predicate, format_args!("a predicate of shape {} for {}", self.operands[0], self.operands[1]))?;
        let are_alike = on_false.dims() == on_true.dims() && are_mixable(on_true.element(), on_false.element());
        self.agree(1, 2, are_alike)?;
        let element = higher(on_true.element(), on_false.element());
        self.like(element, usize::from(predicate.rank() == 0))
    }

    pub(super) fn clamp(&self) -> Inference {
        let value = self.array(1)?;
        for k in [0, 2] {
            let bound = self.array(k)?;
            let fits = bound.rank() == 0 || bound.dims() == value.dims();
            let is_bound = fits && are_mixable(bound.element(), value.element());
            require(is_bound, format_args!("a bound of shape {} for {}", self.operands[k], self.operands[1]))?;
        }
        self.like(value.element(), 1)
    }

    /// The bits of an element are split into a new last dimension, or the last dimension is merged into the elements.
    pub(super) fn bitcast_convert(&self) -> Inference {
        let (from, Some(written)) = (self.array(0)?, self.written_array()) else { return Ok(None) };
        let (wide, narrow) = (from.element().bits(), written.element().bits());
        let misfit = || format!("bitcast-convert of {} to {}", self.operands[0], written.element().name());
        if wide == narrow {
            return self.like(written.element(), 0);
        }
        if wide > narrow {
            return match wide % narrow {
                0 => self.result(written.element(), sizes(from).chain([Dim::from(i64::from(wide / narrow))])),
                _ => Err(misfit()),
            };
        }
        match from.dims().split_last() {
            Some((&last, rest)) if i128::from(last) * i128::from(wide) == i128::from(narrow) => {
                self.result(written.element(), sizes(from).take(rest.len()))
            }
            _ => Err(misfit()),
        }
    }

    /// The common sizes of the operands, with the element type of the computation's result.
    pub(super) fn map(&self) -> Inference {
        let Some(callee) = self.callee("to_apply") else { return Ok(None) };
        self.equal_sizes(self.operands.len())?;
        // XLA requires all dimensions in order; a text without them is accepted as well.
        let dims = self.ints("dimensions");
        let rank = self.array(0)?.rank();
        let are_all = dims.iter().copied().eq(0..rank as i64) || (self.written.is_some() && dims.is_empty());
        require(are_all, format_args!("dimensions {dims:?}, expected all {rank} in order"))?;
        match self.root(callee).as_array() {
            Some(one) if one.rank() == 0 => self.result(one.element(), sizes(self.array(0)?)),
            _ => Err(format!("a mapped value of {}, expected a scalar", self.root(callee))),
        }
    }
}

/// The element type of complex numbers with parts of this type.
pub(super) fn complex_of(part: ElementType) -> Option<ElementType> {
    [ElementType::C64, ElementType::C128].into_iter().find(|&t| real_part(t) == part)
}

/// The element type of the parts of complex numbers; a real number is its own real part.
pub(super) fn real_part(t: ElementType) -> ElementType {
    match t {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        real => real,
    }
}

/// The element type with the larger range, then precision, then width; complex before real.
pub(super) fn higher(a: ElementType, b: ElementType) -> ElementType {
    let key = |t: ElementType| {
        let is_complex = t.kind() == ElementKind::Complex;
        let (range, precision) = if t.kind() == ElementKind::Float { Format::of(t).range() } else { (0, 0) };
        let width = if t == ElementType::Pred { 1 } else { t.bits() };
        (is_complex, range, precision, width, t.kind() == ElementKind::Signed)
    };
    if key(b) > key(a) {
        b
    } else {
        a
    }
}
