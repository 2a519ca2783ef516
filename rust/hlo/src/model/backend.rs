//! The backend that compiled a module, identified by its configurations.

use super::module::Module;
use crate::Value;

/// Fields of backend configurations that only one backend writes.
const FIELDS: [(&str, &[&str]); 3] = [
    ("CPU", &["outer_dimension_partitions", "fusion_config", "onednn_matmul_config", "onednn_fusion_config"]),
    ("TPU", &["window_config", "used_scoped_memory_configs", "scoped_memory_configs", "flag_configs"]),
    (
        "GPU",
        &[
            "operation_queue_id",
            "fusion_backend_config",
            "native_emitter_backend_config",
            "gemm_backend_config",
            // Before 2024, the parts stood alone.
            "selected_algorithm",
            "conv_result_scale",
            "triton_gemm_config",
            "fmha_scale",
        ],
    ),
];

impl Module {
    /// Whether the order of the instructions is that of their execution.
    pub fn is_scheduled(&self) -> bool {
        self.header_value("is_scheduled") == Some(Value::Bool(true))
    }

    /// The backend that compiled the module, `CPU`, `TPU` or `GPU`, by the first conclusive configuration. Computed
    /// once.
    pub fn backend(&self) -> Option<&'static str> {
        let of = |id| backend_of(self.attribute_text(self.attribute(id, "backend_config")?));
        let find = || (0..self.instructions().len() as u32).find_map(of);
        *self.backend.get_or_init(|| self.is_scheduled().then(find).flatten())
    }
}

/// The backend of a configuration: JSON, or JSON in a string, whose quotes are escaped.
fn backend_of(config: &str) -> Option<&'static str> {
    let names = |field: &str| {
        let ends = |(at, _)| config[..at].ends_with('"') && config[at + field.len()..].starts_with(['"', '\\']);
        config.match_indices(field).any(ends)
    };
    FIELDS.iter().find(|(_, fields)| fields.iter().any(|field| names(field))).map(|(backend, _)| *backend)
}
