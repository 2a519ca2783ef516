//! The sizes that windows give: pooling and convolution.
//!
//! Read [`output_size`].

use crate::attribute::{DimLabels, WindowDim};

/// How many windows fit on a dimension of size `n` after dilation and padding.
pub(crate) fn output_size(w: &WindowDim, n: i64) -> Result<i128, String> {
    if w.size < 1 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1 {
        return Err("a window with a size, stride or dilation below 1".into());
    }
    let dilated = |n: i64, by: i64| if n == 0 { 0 } else { (i128::from(n) - 1) * i128::from(by) + 1 };
    let padded = dilated(n, w.base_dilation) + i128::from(w.pad_low) + i128::from(w.pad_high);
    let window = dilated(w.size, w.window_dilation);
    Ok(if padded < window { 0 } else { (padded - window) / i128::from(w.stride) + 1 })
}

/// The sizes of a convolution's value; `groups` are the counts of feature and of batch groups.
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
        Some(place) => {
            *place = size;
            Ok(())
        }
        None => Err(format!("dim_labels with dimension {d} of an array of rank {}", n + 2)),
    };
    put(labels.output_batch, i128::from(batch / batch_groups))?;
    put(labels.output_feature, i128::from(outer))?;
    for (k, w) in window.iter().enumerate() {
        let places = size(kernel, labels.kernel_spatial[k])?;
        if places != w.size {
            return Err(format!("a window of size {} in spatial dimension {k}, the kernel has {places}", w.size));
        }
        put(labels.output_spatial[k], output_size(w, size(input, labels.input_spatial[k])?)?)?;
    }
    Ok(dims)
}
