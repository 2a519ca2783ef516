//! Windows and the dimension numbers of convolutions: text, and output sizes.
//!
//! See <https://openxla.org/xla/operation_semantics#convwithgeneralpadding_convolution>.

use std::fmt;

use layout::{clip, require};

use crate::attribute::{by_dim, pair};
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};

/// One dimension of a window, with defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDim {
    /// The size of the window.
    pub size: i64,
    /// The step of the window from one output element to the next.
    pub stride: i64,
    /// Padding before the first element; may be negative.
    pub pad_low: i64,
    /// Padding after the last element; may be negative.
    pub pad_high: i64,
    /// Dilation of the operand: the distance of its elements after dilation.
    pub base_dilation: i64,
    /// Dilation of the window: the distance of its elements after dilation.
    pub window_dilation: i64,
    /// Whether the window is reversed.
    pub reversal: bool,
}

/// `{size=3x3 pad=1_1x1_1}`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// By dimension.
    pub dims: Vec<WindowDim>,
}

/// `bf01_oi01->bf01`: the role of each dimension of input, kernel and output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DimLabels {
    /// `bf01`: batch and feature dimension of the operand.
    pub input: Labels,
    /// `oi01`: input and output feature dimension of the kernel.
    pub kernel: Labels,
    /// `bf01`: batch and feature dimension of the output.
    pub output: Labels,
}

/// The role of each dimension of one array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    /// The two dimensions that have a letter.
    pub letters: [i64; 2],
    /// The spatial dimensions, in the order of their digits.
    pub spatial: Vec<i64>,
}

/// By array: its name in messages, what precedes it in text, and its letters.
const ARRAYS: [(&str, &str, [u8; 2]); 3] = [("input", "", *b"bf"), ("kernel", "_", *b"io"), ("output", "->", *b"bf")];

/// The number of window positions along a dimension of size `n`, after dilation and padding.
pub(crate) fn output_size(w: &WindowDim, n: i64) -> Result<i128, String> {
    let is_valid = w.size >= 1 && w.stride >= 1 && w.base_dilation >= 1 && w.window_dilation >= 1;
    require(is_valid, format_args!("a window with a size, stride or dilation below 1"))?;
    let dilated = |n: i64, by: i64| if n == 0 { 0 } else { (i128::from(n) - 1) * i128::from(by) + 1 };
    let padded = dilated(n, w.base_dilation) + i128::from(w.pad_low) + i128::from(w.pad_high);
    let window = dilated(w.size, w.window_dilation);
    Ok(if padded < window { 0 } else { (padded - window) / i128::from(w.stride) + 1 })
}

/// The output sizes of a convolution; `groups` are the feature and batch group counts.
pub(crate) fn convolution_dims(
    labels: &DimLabels,
    window: &[WindowDim],
    input: &[i64],
    kernel: &[i64],
    groups: [i64; 2],
) -> Result<Vec<i128>, String> {
    let DimLabels { input: of_input, kernel: of_kernel, output } = labels;
    let n = of_input.spatial.len();
    let size = |dims: &[i64], d: i64| {
        let of = |d: i64| usize::try_from(d).ok().and_then(|d| dims.get(d)).copied();
        of(d).ok_or_else(|| format!("dim_labels with dimension {d} of an array of rank {}", dims.len()))
    };
    let (rank, a, b, n_window) = (n + 2, input.len(), kernel.len(), window.len());
    require(a == rank && b == rank, format_args!("arrays of rank {a} and {b}, dim_labels for rank {rank}"))?;
    require(n_window == n, format_args!("a window of {n_window} dimensions, dim_labels with {n} spatial ones"))?;
    let [feature_groups, batch_groups] = groups;
    let [batch, features] = of_input.letters.map(|d| size(input, d));
    let [inner, outer] = of_kernel.letters.map(|d| size(kernel, d));
    let (batch, features, inner, outer) = (batch?, features?, inner?, outer?);
    let divides = |n: i64, groups: i64| groups >= 1 && n % groups == 0;
    let divide = divides(batch, batch_groups) && divides(outer, feature_groups);
    let (f, b) = (feature_groups, batch_groups);
    require(divide, format_args!("{f} feature groups and {b} batch groups do not divide the sizes"))?;
    let fits = inner.checked_mul(feature_groups) == Some(features);
    require(fits, format_args!("{features} input features, the kernel has {inner} in {feature_groups} groups"))?;
    let mut sizes = vec![i128::from(batch / batch_groups), i128::from(outer)];
    for (k, w) in window.iter().enumerate() {
        let kernel_size = size(kernel, of_kernel.spatial[k])?;
        let (fits, size_of) = (kernel_size == w.size, w.size);
        require(
            fits,
            format_args!("a window of size {size_of} in spatial dimension {k}, the kernel has {kernel_size}"),
        )?;
        sizes.push(output_size(w, size(input, of_input.spatial[k])?)?);
    }
    let mut dims = vec![0i128; n + 2];
    for (&d, size) in output.letters.iter().chain(&output.spatial).zip(sizes) {
        match usize::try_from(d).ok().and_then(|d| dims.get_mut(d)) {
            Some(dim) => *dim = size,
            None => return Err(format!("dim_labels with dimension {d} of an array of rank {}", n + 2)),
        }
    }
    Ok(dims)
}

/// Parses a window from a whole text.
pub fn parse_window(text: &str) -> Option<Window> {
    whole(text, window)
}

/// Parses dimension numbers from a whole text.
pub fn parse_dim_labels(text: &str) -> Option<DimLabels> {
    whole(text, dim_labels)
}

/// Parses a value that takes up a whole text.
pub(crate) fn whole<T>(text: &str, read: impl FnOnce(&mut Cursor<'_>) -> Read<T>) -> Option<T> {
    let mut c = Cursor::new(text);
    let value = read(&mut c).ok()?;
    c.space();
    c.at_end().then_some(value)
}

/// The fields of a window in text.
const FIELDS: [&str; 6] = ["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"];

/// The values of a dimension by field, of which the padding has two.
type Fields = [(i64, i64); 6];

/// The values that a text leaves out.
const DEFAULTS: Fields = [(1, 0), (1, 0), (0, 0), (1, 0), (1, 0), (0, 0)];

impl WindowDim {
    fn of(fields: Fields) -> WindowDim {
        let [(size, _), (stride, _), (pad_low, pad_high), (base_dilation, _), (window_dilation, _), (reversal, _)] =
            fields;
        WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal: reversal != 0 }
    }

    fn fields(&self) -> Fields {
        let &WindowDim { size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal } = self;
        let pad = (pad_low, pad_high);
        [(size, 0), (stride, 0), pad, (base_dilation, 0), (window_dilation, 0), (i64::from(reversal), 0)]
    }
}

pub(crate) fn window(c: &mut Cursor<'_>) -> Read<Window> {
    c.expect(b'{', "`{`")?;
    let start = *c;
    let mut dims: Option<Vec<Fields>> = None;
    let mut seen = [false; FIELDS.len()];
    while !c.accept_after_space(b'}') {
        let at = *c;
        let word = c.word();
        let Some(field) = FIELDS.iter().position(|f| *f == word) else {
            return Err(at.expected("size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal or `}`"));
        };
        if std::mem::replace(&mut seen[field], true) {
            return Err(Diagnostic::duplicate(Span::new(at.pos, c.pos), "window field", word));
        }
        c.expect(b'=', "`=`")?;
        c.space();
        let values = if word == "pad" { by_dim(c, pair)? } else { by_dim(c, |c| Ok((c.int()?, 0)))? };
        let dims = dims.get_or_insert_with(|| vec![DEFAULTS; values.len()]);
        if dims.len() != values.len() {
            let (span, found) = (Span::new(at.pos, c.pos), values.len().to_string());
            return Err(Diagnostic::disagrees(span, "dimensions of a window", dims.len(), found));
        }
        dims.iter_mut().zip(values).for_each(|(dim, value)| dim[field] = value);
    }
    if dims.is_some() && !seen[0] {
        return Err(start.expected("size= in a window"));
    }
    Ok(Window { dims: dims.unwrap_or_default().into_iter().map(WindowDim::of).collect() })
}

pub(crate) fn dim_labels(c: &mut Cursor<'_>) -> Read<DimLabels> {
    c.space();
    let start = *c;
    let input = label_word(c);
    let kernel = if c.accept(b'_') { label_word(c) } else { "" };
    if !c.accept_pair(*b"->") {
        return Err(c.expected("`->` of dim_labels"));
    }
    let output = label_word(c);
    let span = Span::new(start.pos, c.pos);
    let bad = |what: String| {
        Diagnostic::expected(span, format!("dim_labels whose {what}"), format!("`{}`", clip(start.str(span))))
    };
    let mut words = [input, kernel, output].into_iter();
    let [input, kernel, output] = ARRAYS.map(|(name, _, letters)| {
        let [first, second] = letters.map(char::from);
        let expected = || format!("{name} has {first}, {second} and the spatial digits once each");
        labels(words.next().unwrap_or(""), letters).ok_or_else(|| bad(expected()))
    });
    let found = DimLabels { input: input?, kernel: kernel?, output: output? };
    let n = found.input.spatial.len();
    if found.kernel.spatial.len() != n || found.output.spatial.len() != n {
        return Err(bad("three parts have the same number of spatial dimensions".into()));
    }
    Ok(found)
}

fn label_word<'a>(c: &mut Cursor<'a>) -> &'a str {
    let start = c.pos;
    while c.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'?') {
        c.pos += 1;
    }
    &c.text[start..c.pos]
}

/// The positions of the two letters, and of the digits in ascending order. A `?` is a dimension that takes no part in
/// the convolution.
fn labels(word: &str, [first, second]: [u8; 2]) -> Option<Labels> {
    let mut letters = [None; 2];
    let mut spatial = [None; 10];
    for (at, c) in word.bytes().enumerate() {
        let slot = match c {
            c if c == first => &mut letters[0],
            c if c == second => &mut letters[1],
            c if c.is_ascii_digit() => &mut spatial[(c - b'0') as usize],
            b'?' => continue,
            _ => return None,
        };
        if slot.replace(at as i64).is_some() {
            return None;
        }
    }
    let n = spatial.iter().take_while(|p| p.is_some()).count();
    if spatial[n..].iter().any(Option::is_some) {
        return None;
    }
    let spatial = spatial[..n].iter().map(|p| p.unwrap_or_default()).collect();
    Some(Labels { letters: [letters[0]?, letters[1]?], spatial })
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (k, name) in FIELDS.into_iter().enumerate() {
            let values = || self.dims.iter().map(|dim| dim.fields()[k]);
            // The size is there in any case, unless there are no dimensions.
            if (k > 0 || self.dims.is_empty()) && values().all(|value| value == DEFAULTS[k]) {
                continue;
            }
            let shown = |(a, b): (i64, i64)| if name == "pad" { format!("{a}_{b}") } else { a.to_string() };
            write!(f, "{}{name}={}", if k > 0 { " " } else { "" }, values().map(shown).collect::<Vec<_>>().join("x"))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for DimLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((_, between, letters), labels) in ARRAYS.into_iter().zip([&self.input, &self.kernel, &self.output]) {
            f.write_str(between)?;
            let digits = labels.spatial.iter().copied().zip('0'..);
            let letters = letters.map(char::from);
            let mut all: Vec<_> = digits.chain(labels.letters.into_iter().zip(letters)).collect();
            all.sort_unstable();
            // A dimension without a label takes no part in the convolution.
            let mut next = 0;
            for (d, c) in all {
                (next..d).try_for_each(|_| f.write_str("?"))?;
                write!(f, "{c}")?;
                next = (next + 1).max(d + 1);
            }
        }
        Ok(())
    }
}
