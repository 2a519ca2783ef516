//! Windows and the dimension numbers of convolutions: text, and output sizes.
//!
//! See <https://openxla.org/xla/operation_semantics#convwithgeneralpadding_convolution>.

use std::fmt;

use crate::attribute::{by_dim, pair};
use crate::cursor::{clip, Cursor, Read};
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
    /// The operand's batch dimension.
    pub input_batch: i64,
    /// The operand's feature dimension.
    pub input_feature: i64,
    /// The operand's spatial dimensions.
    pub input_spatial: Vec<i64>,
    /// The kernel's input feature dimension.
    pub kernel_input_feature: i64,
    /// The kernel's output feature dimension.
    pub kernel_output_feature: i64,
    /// The kernel's spatial dimensions.
    pub kernel_spatial: Vec<i64>,
    /// The output's batch dimension.
    pub output_batch: i64,
    /// The output's feature dimension.
    pub output_feature: i64,
    /// The output's spatial dimensions.
    pub output_spatial: Vec<i64>,
}

/// The number of window positions along a dimension of size `n`, after dilation and padding.
pub(crate) fn output_size(w: &WindowDim, n: i64) -> Result<i128, String> {
    if w.size < 1 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1 {
        return Err("a window with a size, stride or dilation below 1".into());
    }
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
    let n = labels.input_spatial.len();
    let size = |dims: &[i64], d: i64| {
        let of = |d: i64| usize::try_from(d).ok().and_then(|d| dims.get(d)).copied();
        of(d).ok_or_else(|| format!("dim_labels with dimension {d} of an array of rank {}", dims.len()))
    };
    if input.len() != n + 2 || kernel.len() != n + 2 {
        return Err(format!("arrays of rank {} and {}, dim_labels for rank {}", input.len(), kernel.len(), n + 2));
    }
    if window.len() != n && !(window.is_empty() && n == 0) {
        return Err(format!("a window of {} dimensions, dim_labels with {n} spatial ones", window.len()));
    }
    let [feature_groups, batch_groups] = groups;
    let (batch, features) = (size(input, labels.input_batch)?, size(input, labels.input_feature)?);
    let (inner, outer) = (size(kernel, labels.kernel_input_feature)?, size(kernel, labels.kernel_output_feature)?);
    if feature_groups < 1 || batch_groups < 1 || batch % batch_groups != 0 || outer % feature_groups != 0 {
        return Err(format!("{feature_groups} feature groups and {batch_groups} batch groups do not divide the sizes"));
    }
    if inner.checked_mul(feature_groups) != Some(features) {
        return Err(format!("{features} input features, the kernel has {inner} in {feature_groups} groups"));
    }
    let mut dims = vec![0i128; n + 2];
    let mut put = |d: i64, size: i128| match usize::try_from(d).ok().and_then(|d| dims.get_mut(d)) {
        Some(dim) => {
            *dim = size;
            Ok(())
        }
        None => Err(format!("dim_labels with dimension {d} of an array of rank {}", n + 2)),
    };
    put(labels.output_batch, i128::from(batch / batch_groups))?;
    put(labels.output_feature, i128::from(outer))?;
    for (k, w) in window.iter().enumerate() {
        let kernel_size = size(kernel, labels.kernel_spatial[k])?;
        if kernel_size != w.size {
            return Err(format!("a window of size {} in spatial dimension {k}, the kernel has {kernel_size}", w.size));
        }
        put(labels.output_spatial[k], output_size(w, size(input, labels.input_spatial[k])?)?)?;
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

pub(crate) fn window(c: &mut Cursor<'_>) -> Read<Window> {
    c.expect(b'{', "`{`")?;
    let start = *c;
    let mut dims: Option<Vec<WindowDim>> = None;
    let fresh = WindowDim {
        size: 1,
        stride: 1,
        pad_low: 0,
        pad_high: 0,
        base_dilation: 1,
        window_dilation: 1,
        reversal: false,
    };
    let mut seen = [false; 6];
    while !c.accept_after_space(b'}') {
        let at = *c;
        const FIELDS: [&str; 6] = ["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"];
        let word = c.word();
        let Some(field) = FIELDS.iter().position(|f| *f == word) else {
            return Err(at.expected("size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal or `}`"));
        };
        if std::mem::replace(&mut seen[field], true) {
            return Err(Diagnostic::duplicate(Span::new(at.pos, c.pos), "window field", word));
        }
        c.expect(b'=', "`=`")?;
        c.space();
        let values = if field == 2 { by_dim(c, pair)? } else { by_dim(c, |c| Ok((c.int()?, 0)))? };
        let dims = dims.get_or_insert_with(|| vec![fresh; values.len()]);
        if dims.len() != values.len() {
            let (span, found) = (Span::new(at.pos, c.pos), values.len().to_string());
            return Err(Diagnostic::disagrees(span, "dimensions of a window", dims.len(), found));
        }
        for (dim, (a, b)) in dims.iter_mut().zip(values) {
            match field {
                0 => dim.size = a,
                1 => dim.stride = a,
                2 => (dim.pad_low, dim.pad_high) = (a, b),
                3 => dim.base_dilation = a,
                4 => dim.window_dilation = a,
                _ => dim.reversal = a != 0,
            }
        }
    }
    if dims.is_some() && !seen[0] {
        return Err(start.expected("size= in a window"));
    }
    Ok(Window { dims: dims.unwrap_or_default() })
}

pub(crate) fn dim_labels(c: &mut Cursor<'_>) -> Read<DimLabels> {
    c.space();
    let start = *c;
    let input = c.label_word();
    let kernel = if c.accept(b'_') { c.label_word() } else { "" };
    if !c.accept_pair(*b"->") {
        return Err(c.expected("`->` of dim_labels"));
    }
    let output = c.label_word();
    let span = Span::new(start.pos, c.pos);
    let bad = |what: &str| {
        Diagnostic::expected(span, format!("dim_labels whose {what}"), format!("`{}`", clip(start.str(span))))
    };
    let (input_batch, input_feature, input_spatial) =
        labels(input, b'b', b'f').ok_or_else(|| bad("input has b, f and the spatial digits once each"))?;
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) =
        labels(kernel, b'i', b'o').ok_or_else(|| bad("kernel has i, o and the spatial digits once each"))?;
    let (output_batch, output_feature, output_spatial) =
        labels(output, b'b', b'f').ok_or_else(|| bad("output has b, f and the spatial digits once each"))?;
    if kernel_spatial.len() != input_spatial.len() || output_spatial.len() != input_spatial.len() {
        return Err(bad("three parts have the same number of spatial dimensions"));
    }
    Ok(DimLabels {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    })
}

impl<'a> Cursor<'a> {
    fn label_word(&mut self) -> &'a str {
        let start = self.pos;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == b'?') {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }
}

/// The positions of the two letters, and of the digits in ascending order. A `?` is a dimension that takes no part in
/// the convolution.
fn labels(word: &str, first: u8, second: u8) -> Option<(i64, i64, Vec<i64>)> {
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
    Some((letters[0]?, letters[1]?, spatial[..n].iter().map(|p| p.unwrap_or_default()).collect()))
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_dim = |one: &dyn Fn(&WindowDim) -> String| self.dims.iter().map(one).collect::<Vec<_>>().join("x");
        write!(f, "{{size={}", by_dim(&|d| d.size.to_string()))?;
        if self.dims.iter().any(|d| d.stride != 1) {
            write!(f, " stride={}", by_dim(&|d| d.stride.to_string()))?;
        }
        if self.dims.iter().any(|d| (d.pad_low, d.pad_high) != (0, 0)) {
            write!(f, " pad={}", by_dim(&|d| format!("{}_{}", d.pad_low, d.pad_high)))?;
        }
        if self.dims.iter().any(|d| d.base_dilation != 1) {
            write!(f, " lhs_dilate={}", by_dim(&|d| d.base_dilation.to_string()))?;
        }
        if self.dims.iter().any(|d| d.window_dilation != 1) {
            write!(f, " rhs_dilate={}", by_dim(&|d| d.window_dilation.to_string()))?;
        }
        if self.dims.iter().any(|d| d.reversal) {
            write!(f, " rhs_reversal={}", by_dim(&|d| i64::from(d.reversal).to_string()))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for DimLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |first: (i64, char), second: (i64, char), spatial: &[i64]| {
            let digits = spatial.iter().zip('0'..).map(|(&d, c)| (d, c));
            let mut all: Vec<_> = digits.chain([first, second]).collect();
            all.sort_unstable();
            // A dimension without a label takes no part in the convolution.
            let mut text = String::new();
            for (d, c) in all {
                while (text.len() as i64) < d {
                    text.push('?');
                }
                text.push(c);
            }
            text
        };
        let input = word((self.input_batch, 'b'), (self.input_feature, 'f'), &self.input_spatial);
        let kernel = word((self.kernel_input_feature, 'i'), (self.kernel_output_feature, 'o'), &self.kernel_spatial);
        let output = word((self.output_batch, 'b'), (self.output_feature, 'f'), &self.output_spatial);
        write!(f, "{input}_{kernel}->{output}")
    }
}
