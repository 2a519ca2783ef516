//! The fields of XLA's messages, to report those of versions that are newer than this table.
//!
//! A field that has a value and is not in the table is reported by its message and its number, wherever it is.

use std::sync::LazyLock;

use layout::MAX_DEPTH;

use super::wire::{each_field, Field, Payload};

/// Messages, with their fields by number: `3` or `3-5`, and `3:Name` for a field that is a message. The first ones are
/// those of the constants below.
const MESSAGES: &[(&str, &str)] = &[
    (
        "HloModuleProto",
        "1 2 3:HloComputationProto 4:ProgramShapeProto 5 6 7:HloScheduleProto 8:HloInputOutputAliasProto \
         10:CrossProgramPrefetch 11 12:OpSharding 13:HloModuleProto.ProfileInfo 14:OpSharding \
         15:DeviceAssignmentProto 16 17:StackFrameIndexProto 18:HloBufferDonorProto 19:FrontendAttributes \
         20:OriginalValueRecoveryTableProto 21-23 24:DebugAttributeTableEntryProto 25",
    ),
    // The instructions have the shapes of field 4.
    ("HloComputationProto", "1 2:HloInstructionProto 4-9"),
    (
        "HloInstructionProto",
        "1 2 3:ShapeProto 7:OpMetadata 8:LiteralProto 9 11 13 14 15:Window 16:ConvolutionDimensionNumbers \
         17:HloInstructionProto.SliceDimensions 18-20 21:PaddingConfig 22-28 29:ShapeProto \
         30:DotDimensionNumbers 31 32 33:GatherDimensionNumbers 34-38 40:OpSharding 43 45 47 \
         48:ScatterDimensionNumbers 49:ReplicaGroup 50 51:PrecisionConfig 52:SourceTarget 54:OpSharding \
         55:OpSharding 56 57:ShapeProto 58 59:TriangularSolveOptions 60 61:ParameterReplication \
         62:CholeskyOptions 63 65-67 68:FrontendAttributes 69-73 74:OutputOperandAliasing 75-77 79-81 \
         82:StatisticsViz 85 87:CollectiveDeviceListProto 88:OriginalValueProto 89 \
         90:RaggedDotDimensionNumbers 91:ResultAccuracy 92:IotaReplicaGroupListProto \
         93:MeshAxesReplicaGroupListProto 94-97 98:SparsityConfig 99:Payload 100 101:BlockScalingConfig \
         102 103:ShuffleMode",
    ),
    ("ShapeProto", "2 3 4:ShapeProto 5:LayoutProto 6"),
    ("LayoutProto", "1 6:TileProto 7-9 10:ShapeProto 11-16 17:SplitConfigProto"),
    ("TileProto", "1"),
    ("SplitConfigProto", "1 2"),
    ("OpMetadata", "1-5 8 9 10:OpMetadata.ProfileInfo 12 15-19 20:Payload"),
    ("OpMetadata.ProfileInfo", "1-5"),
    ("Payload", "1 2"),
    ("LiteralProto", "1:ShapeProto 2-9 10:LiteralProto 11-36"),
    ("Window", "1:WindowDimension"),
    ("WindowDimension", "1-7"),
    ("ConvolutionDimensionNumbers", "3 4 6-12"),
    ("HloInstructionProto.SliceDimensions", "1-3"),
    ("PaddingConfig", "1:PaddingConfig.PaddingConfigDimension"),
    ("PaddingConfig.PaddingConfigDimension", "1-3"),
    ("DotDimensionNumbers", "1-4"),
    ("RaggedDotDimensionNumbers", "1:DotDimensionNumbers 2 3"),
    ("GatherDimensionNumbers", "1-6"),
    ("OpSharding", "1 2:ShapeProto 3 4 5:OpSharding 6 7:OpMetadata 8-13 14:NamedShardingProto"),
    (
        "NamedShardingProto",
        "2:MeshProto 3:NamedShardingProto.DimensionSharding 4:AxisRefProto 5:AxisRefProto 6:OpMetadata \
         7:AxisRefProto 8",
    ),
    ("MeshProto", "1:MeshProto.MeshAxis 2 3:MeshProto.IotaTransform"),
    ("MeshProto.MeshAxis", "1 2"),
    ("MeshProto.IotaTransform", "1 2"),
    ("NamedShardingProto.DimensionSharding", "1:AxisRefProto 2"),
    ("AxisRefProto", "1 2:AxisRefProto.SubAxis"),
    ("AxisRefProto.SubAxis", "1 2"),
    ("ReplicaGroup", "1"),
    ("ScatterDimensionNumbers", "1-6"),
    ("PrecisionConfig", "1 2"),
    ("SourceTarget", "1 2"),
    ("TriangularSolveOptions", "1-4"),
    ("CholeskyOptions", "1"),
    ("ParameterReplication", "1"),
    ("OutputOperandAliasing", "1-3"),
    ("FrontendAttributes", "1:FrontendAttributes.MapEntry"),
    ("FrontendAttributes.MapEntry", "1 2"),
    ("StatisticsViz", "1 2:Statistic"),
    ("Statistic", "1 2"),
    ("CollectiveDeviceListProto", "1:ReplicaGroup"),
    ("IotaReplicaGroupListProto", "1-4"),
    ("MeshAxesReplicaGroupListProto", "1:MeshProto 2:AxisRefProto"),
    ("OriginalValueProto", "1:OriginalValueElementProto 2 3"),
    ("OriginalValueElementProto", "1 2:OriginalArrayProto"),
    ("OriginalArrayProto", "1 2"),
    ("ResultAccuracy", "1 2:ResultAccuracy.Tolerance"),
    ("ResultAccuracy.Tolerance", "1-3"),
    ("SparsityConfig", "1:SparsityConfig.TensorSparsityConfig 2:SparsityConfig.TensorSparsityConfig"),
    ("SparsityConfig.TensorSparsityConfig", "1-5"),
    (
        "BlockScalingConfig",
        "1:BlockScalingConfig.TensorBlockScalingConfig 2:BlockScalingConfig.TensorBlockScalingConfig",
    ),
    ("BlockScalingConfig.TensorBlockScalingConfig", "1-4"),
    ("ShuffleMode", "1:ShuffleMode.Rotate"),
    ("ShuffleMode.Rotate", "1"),
    ("ProgramShapeProto", "1:ShapeProto 2:ShapeProto 3"),
    ("HloScheduleProto", "1:HloScheduleProto.SequencesEntry"),
    ("HloScheduleProto.SequencesEntry", "1 2:HloScheduleProto.InstructionSequence"),
    ("HloScheduleProto.InstructionSequence", "1"),
    ("HloInputOutputAliasProto", "1:HloInputOutputAliasProto.AliasEntryProto"),
    ("HloInputOutputAliasProto.AliasEntryProto", "1-4"),
    ("HloBufferDonorProto", "1:HloBufferDonorProto.BufferDonorEntryProto"),
    ("HloBufferDonorProto.BufferDonorEntryProto", "1 2"),
    ("CrossProgramPrefetch", "1-3"),
    ("HloModuleProto.ProfileInfo", "1-8"),
    ("DeviceAssignmentProto", "1 2 3:DeviceAssignmentProto.ComputationDevice"),
    ("DeviceAssignmentProto.ComputationDevice", "1"),
    ("StackFrameIndexProto", "1 2 3:StackFrameIndexProto.FileLocation 4:StackFrameIndexProto.StackFrame"),
    ("StackFrameIndexProto.FileLocation", "1-6"),
    ("StackFrameIndexProto.StackFrame", "1 2"),
    ("OriginalValueRecoveryTableProto", "1:OriginalValueRecoveryTableProto.Entry"),
    ("OriginalValueRecoveryTableProto.Entry", "1:OriginalArrayProto 2:OriginalArrayProto 3:HloModuleProto"),
    ("DebugAttributeTableEntryProto", "1:OriginalArrayProto 2:DebugAttributesProto"),
    ("DebugAttributesProto", "1-5 6:X64ConfigProto"),
    ("X64ConfigProto", "1-3"),
];

pub(super) const MODULE: usize = 0;
pub(super) const COMPUTATION: usize = 1;
pub(super) const INSTRUCTION: usize = 2;
pub(super) const SHAPE: usize = 3;

/// By message and field number: [`UNKNOWN`], [`VALUE`], or `MESSAGE` plus the number of the message that it is.
static FIELDS: LazyLock<Vec<[u8; 128]>> = LazyLock::new(|| {
    let row = |(_, text): &(&str, &str)| {
        let mut fields = [UNKNOWN; 128];
        for word in text.split_whitespace() {
            let (numbers, message) = word.split_once(':').unwrap_or((word, ""));
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let range = first.parse::<usize>().unwrap_or(0)..=last.parse().unwrap_or(0);
            let kind = MESSAGES.iter().position(|row| row.0 == message).map_or(VALUE, |k| MESSAGE + k as u8);
            fields[range].fill(kind);
        }
        fields
    };
    MESSAGES.iter().map(row).collect()
});
const UNKNOWN: u8 = 0;
const VALUE: u8 = 1;
const MESSAGE: u8 = 2;

/// Calls `found` with the name of the message and the number of each unknown field of a message, and of those inside it.
pub(super) fn each_unknown<'a>(
    message: usize,
    fields: impl Iterator<Item = Field<'a>>,
    found: &mut dyn FnMut(&'static str, u32),
) {
    let table = &FIELDS[..];
    for f in fields {
        unknown(table, message, f, 0, found);
    }
}

#[inline(always)]
fn unknown(table: &[[u8; 128]], message: usize, f: Field<'_>, depth: usize, found: &mut dyn FnMut(&'static str, u32)) {
    match table[message].get(f.number as usize).copied().unwrap_or(UNKNOWN) {
        VALUE => {}
        inner @ MESSAGE.. => inside(table, usize::from(inner - MESSAGE), f, depth + 1, found),
        UNKNOWN if f.is_default() => {}
        UNKNOWN => found(MESSAGES[message].0, f.number),
    }
}

fn inside(table: &[[u8; 128]], message: usize, f: Field<'_>, depth: usize, found: &mut dyn FnMut(&'static str, u32)) {
    if let (Payload::Bytes(bytes), true) = (f.payload, depth <= MAX_DEPTH) {
        // Malformed bytes are refused where they are read, and so are messages that nest deeper.
        let _ = each_field(bytes, f.at, |f| {
            unknown(table, message, f, depth, found);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_listed() {
        let name = |message: usize| MESSAGES[message].0;
        let first = [MODULE, COMPUTATION, INSTRUCTION, SHAPE].map(name);
        assert_eq!(first, ["HloModuleProto", "HloComputationProto", "HloInstructionProto", "ShapeProto"]);
        let inner = MESSAGES
            .iter()
            .flat_map(|row| row.1.split([' ', ':']))
            .filter(|word| word.starts_with(char::is_alphabetic));
        for word in inner {
            assert!(MESSAGES.iter().any(|row| row.0 == word), "{word}");
        }
    }
}
