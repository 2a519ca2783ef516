//! The backend that compiled a module, identified by its configurations.

use super::module::{InstructionId, Module};
use crate::{Opcode, Value};

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

impl Module {
    /// The number of devices that an instruction tells apart by number: `replica-id`, `partition-id`.
    pub fn n_devices_of(&self, id: InstructionId) -> Option<i64> {
        let name = match self.instructions()[id as usize].opcode {
            Opcode::ReplicaId => "replica_count",
            Opcode::PartitionId => "num_partitions",
            _ => return None,
        };
        match self.header_value(name) {
            Some(Value::Int(n)) => (n > 1).then_some(n),
            _ => None,
        }
    }

    /// A number in the configuration of an instruction: that of `inner` in the object `field`, written as one or as text.
    pub fn config_number(&self, id: InstructionId, field: &str, inner: &str) -> Option<i64> {
        let attribute = self.attribute(id, "backend_config")?;
        let value = self.value(attribute, None);
        let text = if let Value::Text(text) = &value { text } else { self.attribute_text(attribute) };
        let number = json_field(json_field(text, field)?, inner)?;
        number.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(number).trim().parse().ok()
    }
}

/// The text of a field of a JSON object; `None` where there is none or several, and where brackets do not match.
fn json_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0usize);
    // The name of the field in which this is, and where its value begins.
    let (mut own, mut start, mut found) = ("", None, None);
    while let Some(&byte) = bytes.get(at) {
        let is_end = depth == 1 && matches!(byte, b',' | b'}' | b']');
        if let Some(start) = start.take_if(|_| is_end).filter(|_| own == name) {
            if found.replace(text[start..at].trim()).is_some() {
                return None;
            }
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b':' if depth == 1 => start = Some(at + 1),
            b'"' => {
                let first = at + 1;
                at = first;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                own = if depth == 1 && start.is_none() { &text[first..at] } else { own };
            }
            _ => {}
        }
        at += 1;
    }
    found.filter(|_| depth == 0)
}

#[cfg(test)]
mod tests {
    use super::json_field;

    #[test]
    fn fields_of_configurations() {
        let config = r#" {"a":{"n":"1","b":2}, "b" : [1,{"n":3}], "n\"":"\\", "n": 4 }"#;
        for (name, value) in [("a", r#"{"n":"1","b":2}"#), ("b", r#"[1,{"n":3}]"#), ("n", "4")] {
            assert_eq!(json_field(config, name), Some(value));
        }
        for other in
            ["", "{", "12", r#"{"n":1"#, r#"{"n":1}}"#, r#"{"n":1,"n":1}"#, r#"{"m":{"n":1}}"#, r#"{"a":"n:1"}"#]
        {
            assert_eq!(json_field(other, "n"), None, "{other}");
        }
    }
}
