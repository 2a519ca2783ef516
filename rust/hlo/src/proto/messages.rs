//! The messages of XLA's protos: their fields by number, name and type, and the values of their enums.
//!
//! The table tells the fields of newer versions from known ones, and reads the text format. Its words are
//! `NUMBER=NAME:TYPE`, with `*` behind the type of a repeated field. A type is `i` (an integer or a bool), `f` and `d`
//! (floats of 4 and 8 bytes), `s` (a string or bytes), `@NAME` (an enum), the name of a message of the table, or `-` for
//! a message that says nothing about a module.

use std::sync::LazyLock;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Float,
    Double,
    Bytes,
    /// The number of an enum of the table.
    Enum(usize),
    /// The number of a message of the table.
    Message(usize),
    /// A message that is not in the table.
    Skipped,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldSpec {
    pub number: u32,
    pub name: &'static str,
    pub ty: Type,
    pub is_repeated: bool,
}

pub(super) const MODULE: usize = 0;
pub(super) const COMPUTATION: usize = 1;
pub(super) const INSTRUCTION: usize = 2;
pub(super) const SHAPE: usize = 3;

/// Messages that a file may be, in the order in which the name of its first field is looked up.
pub(super) const FILES: [&str; 7] = [
    "HloModuleProto",
    "HloProto",
    "HloSnapshot",
    "HloUnoptimizedSnapshot",
    "HloModuleProtoWithConfig",
    "TuningData",
    "ModuleTuningData",
];

/// Messages with their fields. The first ones are those of the constants above.
const MESSAGES: &[(&str, &str)] = &[
    (
        "HloModuleProto",
        "1=name:s 2=entry_computation_name:s 3=computations:HloComputationProto* \
         4=host_program_shape:ProgramShapeProto 5=id:i 6=entry_computation_id:i 7=schedule:HloScheduleProto \
         8=input_output_alias:HloInputOutputAliasProto 10=cross_program_prefetches:CrossProgramPrefetch* \
         11=is_dynamic:i 12=spmd_output_sharding:OpSharding 13=profile_info:HloModuleProto.ProfileInfo* \
         14=spmd_parameters_shardings:OpSharding* 15=device_assignment:DeviceAssignmentProto \
         16=use_auto_spmd_partitioning:i 17=stack_frame_index:StackFrameIndexProto \
         18=buffer_donor:HloBufferDonorProto 19=frontend_attributes:FrontendAttributes \
         20=original_value_recovery_table:OriginalValueRecoveryTableProto 21=device_type:s 22=payloads:s* \
         23=pjrt_id:i 24=debug_attributes:DebugAttributeTableEntryProto* 25=backend_config:s",
    ),
    (
        "HloComputationProto",
        "1=name:s 2=instructions:HloInstructionProto* 4=program_shape:ProgramShapeProto 5=id:i 6=root_id:i \
         7=is_fusion_computation:i 8=execution_thread:s 9=backend_config:s",
    ),
    (
        "HloInstructionProto",
        "1=name:s 2=opcode:s 3=shape:ShapeProto 7=metadata:OpMetadata 8=literal:LiteralProto 9=parameter_number:i \
         11=fusion_kind:s 13=tuple_index:i 14=dimensions:i* 15=window:Window \
         16=convolution_dimension_numbers:ConvolutionDimensionNumbers \
         17=slice_dimensions:HloInstructionProto.SliceDimensions* 18=exponent_bits:i 19=mantissa_bits:i \
         20=dynamic_slice_sizes:i* 21=padding_config:PaddingConfig 22=outfeed_config:s \
         23=distribution:@RandomDistribution 24=epsilon:f 25=feature_index:i 26=channel_id:i 27=infeed_config:s \
         28=custom_call_target:s 29=outfeed_shape:ShapeProto 30=dot_dimension_numbers:DotDimensionNumbers \
         31=fft_type:@FftType 32=fft_length:i* 33=gather_dimension_numbers:GatherDimensionNumbers \
         34=gather_slice_sizes:i* 35=id:i 36=operand_ids:i* 37=control_predecessor_ids:i* \
         38=called_computation_ids:i* 40=sharding:OpSharding 43=backend_config:s 45=all_reduce_id:i \
         47=is_host_transfer:i 48=scatter_dimension_numbers:ScatterDimensionNumbers 49=replica_groups:ReplicaGroup* \
         50=feature_group_count:i 51=precision_config:PrecisionConfig 52=source_target_pairs:SourceTarget* \
         54=domain_entry_sharding:OpSharding 55=domain_exit_sharding:OpSharding 56=constrain_layout:i \
         57=operand_shapes_with_layout:ShapeProto* 58=batch_group_count:i \
         59=triangular_solve_options:TriangularSolveOptions 60=is_stable:i \
         61=parameter_replication:ParameterReplication 62=cholesky_options:CholeskyOptions 63=comparison_direction:s \
         65=custom_call_has_side_effect:i 66=delta:i 67=indices_are_sorted:i \
         68=frontend_attributes:FrontendAttributes 69=unique_indices:i 70=rng_algorithm:@RandomAlgorithm \
         71=use_global_device_ids:i 72=comparison_type:s 73=is_cross_program_prefetch:i \
         74=output_operand_aliasing:OutputOperandAliasing* 75=padding_type:@PaddingType \
         76=custom_call_schedule:@CustomCallSchedule 77=custom_call_api_version:@CustomCallApiVersion \
         79=async_execution_thread:s 80=cross_program_prefetch_index:i 81=k:i 82=statistics_viz:StatisticsViz \
         85=largest:i 87=collective_device_list:CollectiveDeviceListProto 88=original_value:OriginalValueProto \
         89=is_composite:i 90=ragged_dot_dimension_numbers:RaggedDotDimensionNumbers \
         91=result_accuracy:ResultAccuracy 92=iota_collective_device_list:IotaReplicaGroupListProto \
         93=mesh_axes_replica_group_list:MeshAxesReplicaGroupListProto 94=is_reverse:i 95=num_carries:i \
         96=is_associative:@TriState 97=conv_kind:@ConvolutionKind 98=sparsity_config:SparsityConfig \
         99=backend_config_payload:Payload 100=has_dynamic_root:i 101=block_scaling_config:BlockScalingConfig \
         102=comparison_order:s 103=shuffle_mode:ShuffleMode",
    ),
    (
        "ShapeProto",
        "2=element_type:@PrimitiveType 3=dimensions:i* 4=tuple_shapes:ShapeProto* 5=layout:LayoutProto \
         6=is_dynamic_dimension:i*",
    ),
    (
        "LayoutProto",
        "1=minor_to_major:i* 6=tiles:TileProto* 7=element_size_in_bits:i 8=memory_space:i \
         9=dim_level_types:@DimLevelType* 10=physical_shape:ShapeProto 11=index_primitive_type:@PrimitiveType \
         12=pointer_primitive_type:@PrimitiveType 13=dim_unique:i* 14=dim_ordered:i* \
         15=dynamic_shape_metadata_prefix_bytes:i 16=tail_padding_alignment_in_elements:i \
         17=split_configs:SplitConfigProto*",
    ),
    ("TileProto", "1=dimensions:i*"),
    ("SplitConfigProto", "1=dimension:i 2=split_indices:i*"),
    (
        "OpMetadata",
        "1=op_type:s 2=op_name:s 3=source_file:s 4=source_line:i 5=profile_type:@ProfileType* \
         8=size_of_generated_code_in_bytes:i 9=size_of_memory_working_set_in_bytes:i \
         10=profile_info:OpMetadata.ProfileInfo 12=deduplicated_name:s 15=stack_frame_id:i 16=scheduling_name:s \
         17=source_end_line:i 18=source_column:i 19=source_end_column:i 20=metadata_payload:Payload",
    ),
    (
        "OpMetadata.ProfileInfo",
        "1=profile_type:@ProfileType* 2=relative_speedup:d 3=profile_source:@ProfileSource \
         4=compilation_event:@CompilationEvent 5=profile_generation_strategy:@ProfileGenerationStrategy",
    ),
    ("Payload", "1=value:s 2=id:i"),
    (
        "LiteralProto",
        "1=shape:ShapeProto 2=preds:i* 3=u8s:s 4=s32s:i* 5=s64s:i* 6=u32s:i* 7=u64s:i* 8=f32s:f* 9=f64s:d* \
         10=tuple_literals:LiteralProto* 11=f16s:s 12=c64s:f* 13=bf16s:s 14=sparse_indices:i* 15=s8s:s 16=u16s:s \
         17=s16s:s 18=c128s:d* 19=f8e5m2s:s 20=f8e4m3fns:s 21=s4s:s 22=u4s:s 23=f8e4m3b11fnuzs:s 24=f8e5m2fnuzs:s \
         25=f8e4m3fnuzs:s 26=s2s:s 27=u2s:s 28=f8e4m3s:s 29=f8e3m4s:s 30=s1s:s 31=u1s:s 32=f4e2m1fns:s \
         33=f8e8m0fnus:s 34=dynamic_sizes:i* 35=f6e3m2fns:s 36=f6e2m3fns:s",
    ),
    ("Window", "1=dimensions:WindowDimension*"),
    (
        "WindowDimension",
        "1=size:i 2=stride:i 3=padding_low:i 4=padding_high:i 5=window_dilation:i 6=base_dilation:i \
         7=window_reversal:i",
    ),
    (
        "ConvolutionDimensionNumbers",
        "3=kernel_input_feature_dimension:i 4=kernel_output_feature_dimension:i 6=kernel_spatial_dimensions:i* \
         7=input_batch_dimension:i 8=input_feature_dimension:i 9=output_batch_dimension:i \
         10=output_feature_dimension:i 11=input_spatial_dimensions:i* 12=output_spatial_dimensions:i*",
    ),
    ("HloInstructionProto.SliceDimensions", "1=start:i 2=limit:i 3=stride:i"),
    ("PaddingConfig", "1=dimensions:PaddingConfig.PaddingConfigDimension*"),
    ("PaddingConfig.PaddingConfigDimension", "1=edge_padding_low:i 2=edge_padding_high:i 3=interior_padding:i"),
    (
        "DotDimensionNumbers",
        "1=lhs_contracting_dimensions:i* 2=rhs_contracting_dimensions:i* 3=lhs_batch_dimensions:i* \
         4=rhs_batch_dimensions:i*",
    ),
    (
        "RaggedDotDimensionNumbers",
        "1=dot_dimension_numbers:DotDimensionNumbers 2=lhs_ragged_dimensions:i* 3=rhs_group_dimensions:i*",
    ),
    (
        "GatherDimensionNumbers",
        "1=offset_dims:i* 2=collapsed_slice_dims:i* 3=start_index_map:i* 4=index_vector_dim:i \
         5=operand_batching_dims:i* 6=start_indices_batching_dims:i*",
    ),
    (
        "OpSharding",
        "1=type:@OpSharding.Type 2=tile_shape:ShapeProto 3=tile_assignment_dimensions:i* 4=tile_assignment_devices:i* \
         5=tuple_shardings:OpSharding* 6=replicate_on_last_tile_dim:i 7=metadata:OpMetadata* \
         8=last_tile_dims:@OpSharding.Type* 9=iota_reshape_dims:i* 10=iota_transpose_perm:i* 11=is_shard_group:i \
         12=shard_group_id:i 13=shard_group_type:@OpSharding.ShardGroupType 14=named_sharding:NamedShardingProto",
    ),
    (
        "NamedShardingProto",
        "2=mesh:MeshProto 3=dim_shardings:NamedShardingProto.DimensionSharding* 4=replicated_axes:AxisRefProto* \
         5=unreduced_axes:AxisRefProto* 6=metadata:OpMetadata* 7=manual_axes:AxisRefProto* \
         8=reduction_op:@NamedShardingProto.ReductionOpProto",
    ),
    ("MeshProto", "1=axes:MeshProto.MeshAxis* 2=device_ids:i* 3=iota_transform:MeshProto.IotaTransform"),
    ("MeshProto.MeshAxis", "1=name:s 2=size:i"),
    ("MeshProto.IotaTransform", "1=reshape_dims:i* 2=transpose_perm:i*"),
    ("NamedShardingProto.DimensionSharding", "1=axes:AxisRefProto* 2=is_closed:i"),
    ("AxisRefProto", "1=mesh_axis_index:i 2=sub_axis_info:AxisRefProto.SubAxis"),
    ("AxisRefProto.SubAxis", "1=pre_size:i 2=size:i"),
    ("ReplicaGroup", "1=replica_ids:i*"),
    (
        "ScatterDimensionNumbers",
        "1=update_window_dims:i* 2=inserted_window_dims:i* 3=scatter_dims_to_operand_dims:i* 4=index_vector_dim:i \
         5=input_batching_dims:i* 6=scatter_indices_batching_dims:i*",
    ),
    ("PrecisionConfig", "1=operand_precision:@PrecisionConfig.Precision* 2=algorithm:@PrecisionConfig.Algorithm"),
    ("SourceTarget", "1=source:i 2=target:i"),
    (
        "TriangularSolveOptions",
        "1=left_side:i 2=lower:i 3=unit_diagonal:i 4=transpose_a:@TriangularSolveOptions.Transpose",
    ),
    ("CholeskyOptions", "1=lower:i"),
    ("ParameterReplication", "1=replicated_at_leaf_buffers:i*"),
    ("OutputOperandAliasing", "1=output_shape_index:i* 2=operand_index:i 3=operand_shape_index:i*"),
    ("FrontendAttributes", "1=map:FrontendAttributes.MapEntry*"),
    ("FrontendAttributes.MapEntry", "1=key:s 2=value:s"),
    ("StatisticsViz", "1=stat_index_to_visualize:i 2=statistics:Statistic*"),
    ("Statistic", "1=stat_name:s 2=stat_val:d"),
    ("CollectiveDeviceListProto", "1=replica_groups:ReplicaGroup*"),
    (
        "IotaReplicaGroupListProto",
        "1=num_replica_groups:i 2=num_devices_per_group:i 3=iota_reshape_dims:i* 4=iota_transpose_perm:i*",
    ),
    ("MeshAxesReplicaGroupListProto", "1=mesh:MeshProto 2=axes:AxisRefProto*"),
    ("OriginalValueProto", "1=elements:OriginalValueElementProto* 2=is_synthetic_call:i 3=call_hierarchy:s"),
    ("OriginalValueElementProto", "1=shape_index:i* 2=original_array:OriginalArrayProto"),
    ("OriginalArrayProto", "1=instruction_name:s 2=shape_index:i*"),
    ("ResultAccuracy", "1=mode:@ResultAccuracy.Mode 2=tolerance:ResultAccuracy.Tolerance"),
    ("ResultAccuracy.Tolerance", "1=atol:d 2=rtol:d 3=ulps:i"),
    ("SparsityConfig", "1=lhs:SparsityConfig.TensorSparsityConfig 2=rhs:SparsityConfig.TensorSparsityConfig"),
    ("SparsityConfig.TensorSparsityConfig", "1=num_non_zero:i 2=block_size:i 3=dimension:i 4=stride:i 5=idx:i"),
    (
        "BlockScalingConfig",
        "1=lhs:BlockScalingConfig.TensorBlockScalingConfig 2=rhs:BlockScalingConfig.TensorBlockScalingConfig",
    ),
    ("BlockScalingConfig.TensorBlockScalingConfig", "1=scale_idx:i 2=zero_idx:i 3=strides:i* 4=steps:i*"),
    ("ShuffleMode", "1=rotate:ShuffleMode.Rotate"),
    ("ShuffleMode.Rotate", "1=shifts:i*"),
    ("ProgramShapeProto", "1=parameters:ShapeProto* 2=result:ShapeProto 3=parameter_names:s*"),
    ("HloScheduleProto", "1=sequences:HloScheduleProto.SequencesEntry*"),
    ("HloScheduleProto.SequencesEntry", "1=key:i 2=value:HloScheduleProto.InstructionSequence"),
    ("HloScheduleProto.InstructionSequence", "1=instruction_ids:i*"),
    ("HloInputOutputAliasProto", "1=entries:HloInputOutputAliasProto.AliasEntryProto*"),
    (
        "HloInputOutputAliasProto.AliasEntryProto",
        "1=output_shape_index:i* 2=parameter_number:i 3=parameter_shape_index:i* 4=kind:@Kind",
    ),
    ("HloBufferDonorProto", "1=entries:HloBufferDonorProto.BufferDonorEntryProto*"),
    ("HloBufferDonorProto.BufferDonorEntryProto", "1=parameter_number:i 2=parameter_shape_index:i*"),
    ("CrossProgramPrefetch", "1=parameter:i 2=index:i* 3=offset:i"),
    (
        "HloModuleProto.ProfileInfo",
        "1=profile_type:@HloModuleProto.ProfileType 2=relative_speedup:d 3=profile_source:@ProfileSource \
         4=compilation_event:@CompilationEvent 5=fingerprint:s \
         6=profile_generation_strategy:@ProfileGenerationStrategy 7=original_changelist:i 8=changelist:i",
    ),
    (
        "DeviceAssignmentProto",
        "1=replica_count:i 2=computation_count:i 3=computation_devices:DeviceAssignmentProto.ComputationDevice*",
    ),
    ("DeviceAssignmentProto.ComputationDevice", "1=replica_device_ids:i*"),
    (
        "StackFrameIndexProto",
        "1=file_names:s* 2=function_names:s* 3=file_locations:StackFrameIndexProto.FileLocation* \
         4=stack_frames:StackFrameIndexProto.StackFrame*",
    ),
    (
        "StackFrameIndexProto.FileLocation",
        "1=file_name_id:i 2=function_name_id:i 3=line:i 4=column:i 5=end_line:i 6=end_column:i",
    ),
    ("StackFrameIndexProto.StackFrame", "1=file_location_id:i 2=parent_frame_id:i"),
    ("OriginalValueRecoveryTableProto", "1=entries:OriginalValueRecoveryTableProto.Entry*"),
    (
        "OriginalValueRecoveryTableProto.Entry",
        "1=old_original_array:OriginalArrayProto 2=new_original_array:OriginalArrayProto \
         3=recovery_module:HloModuleProto",
    ),
    ("DebugAttributeTableEntryProto", "1=original_array:OriginalArrayProto 2=debug_attributes:DebugAttributesProto*"),
    (
        "DebugAttributesProto",
        "1=log_mode:@DebugAttributesProto.DebugLogModeProto 2=callback_id:i 3=op_id:i 4=partitioned:i \
         5=operands_sharding:s 6=x64_config:X64ConfigProto",
    ),
    (
        "X64ConfigProto",
        "1=xprecision_64bit_fragment:s 2=original_log_instruction_name:s 3=xprecision_64bit_original_type:s",
    ),
    ("HloProto", "1=hlo_module:HloModuleProto 3=buffer_assignment:-"),
    ("HloSnapshot", "1=hlo:HloProto 2=arguments:LiteralProto* 3=result:LiteralProto 4=execution_platform:s"),
    ("HloUnoptimizedSnapshot", "1=hlo_module:HloModuleProto 2=partitions:- 3=version:i"),
    ("HloModuleProtoWithConfig", "1=hlo_module:HloModuleProto 2=config:-"),
    ("TuningData", "1=modules:ModuleTuningData*"),
    ("ModuleTuningData", "1=module:HloModuleProto"),
];

/// Enums with their values.
const ENUMS: &[(&str, &str)] = &[
    ("RandomDistribution", "RNG_INVALID=0 RNG_UNIFORM=1 RNG_NORMAL=2"),
    ("FftType", "FFT=0 IFFT=1 RFFT=2 IRFFT=3"),
    ("RandomAlgorithm", "RNG_DEFAULT=0 RNG_THREE_FRY=1 RNG_PHILOX=2"),
    ("PaddingType", "PADDING_INVALID=0 PADDING_VALID=1 PADDING_SAME=2"),
    ("CustomCallSchedule", "SCHEDULE_NONE=0 SCHEDULE_LATEST=1 SCHEDULE_EARLIEST=2"),
    (
        "CustomCallApiVersion",
        "API_VERSION_UNSPECIFIED=0 API_VERSION_ORIGINAL=1 API_VERSION_STATUS_RETURNING=2 \
         API_VERSION_STATUS_RETURNING_UNIFIED=3 API_VERSION_TYPED_FFI=4",
    ),
    ("TriState", "TRI_STATE_UNSPECIFIED=0 TRI_STATE_TRUE=1 TRI_STATE_FALSE=2"),
    (
        "ConvolutionKind",
        "CONVOLUTION_KIND_UNSET=0 CONVOLUTION_KIND_FPROP=1 CONVOLUTION_KIND_DGRAD=2 CONVOLUTION_KIND_WGRAD=3",
    ),
    (
        "PrimitiveType",
        "PRIMITIVE_TYPE_INVALID=0 PRED=1 S1=30 S2=26 S4=21 S8=2 S16=3 S32=4 S64=5 U1=31 U2=27 U4=22 U8=6 U16=7 U32=8 \
         U64=9 F16=10 F32=11 BF16=16 F64=12 F8E5M2=19 F8E4M3=28 F8E4M3FN=20 F8E4M3B11FNUZ=23 F8E3M4=29 F8E5M2FNUZ=24 \
         F8E4M3FNUZ=25 F4E2M1FN=32 F8E8M0FNU=33 F6E3M2FN=35 F6E2M3FN=36 C64=15 C128=18 TUPLE=13 OPAQUE_TYPE=14 \
         TOKEN=17 BUFFER=34",
    ),
    ("DimLevelType", "DIM_DENSE=0 DIM_COMPRESSED=1 DIM_SINGLETON=2 DIM_LOOSE_COMPRESSED=3"),
    ("ProfileType", "INVALID=0 WINDOW=1 FLAG=2 INTEGER=3"),
    ("ProfileSource", "PROFILE_SOURCE_UNKNOWN_SOURCE=0 PROFILE_SOURCE_EMBEDDED=1 PROFILE_SOURCE_REMOTE=2"),
    (
        "CompilationEvent",
        "COMPILATION_EVENT_UNKNOWN_EVENT=0 COMPILATION_EVENT_FIRST_COMPILATION=1 COMPILATION_EVENT_RECOMPILATION=2",
    ),
    (
        "ProfileGenerationStrategy",
        "PROFILE_GENERATION_STRATEGY_UNKNOWN=0 PROFILE_GENERATION_STRATEGY_GA=1 PROFILE_GENERATION_STRATEGY_FANTA=2 \
         PROFILE_GENERATION_STRATEGY_CFO=3 PROFILE_GENERATION_STRATEGY_EXHAUSTIVE=4 \
         PROFILE_GENERATION_STRATEGY_LCM_GNN=5 PROFILE_GENERATION_STRATEGY_LCM_MOE=6",
    ),
    ("OpSharding.Type", "REPLICATED=0 MAXIMAL=1 TUPLE=2 OTHER=3 MANUAL=4 UNKNOWN=5 UNREDUCED=6"),
    ("OpSharding.ShardGroupType", "AS=0 LIKE=1"),
    ("NamedShardingProto.ReductionOpProto", "SUM=0 MAX=1 MIN=2"),
    ("PrecisionConfig.Precision", "DEFAULT=0 HIGH=1 HIGHEST=2"),
    (
        "PrecisionConfig.Algorithm",
        "ALG_UNSET=0 ALG_DOT_ANY_F8_ANY_F8_F32=1 ALG_DOT_ANY_F8_ANY_F8_F32_FAST_ACCUM=2 ALG_DOT_F16_F16_F16=3 \
         ALG_DOT_F16_F16_F32=4 ALG_DOT_BF16_BF16_BF16=5 ALG_DOT_BF16_BF16_F32=6 ALG_DOT_BF16_BF16_F32_X3=7 \
         ALG_DOT_BF16_BF16_F32_X6=8 ALG_DOT_TF32_TF32_F32=9 ALG_DOT_TF32_TF32_F32_X3=10 ALG_DOT_F32_F32_F32=11 \
         ALG_DOT_F64_F64_F64=12 ALG_DOT_BF16_BF16_F32_X9=13 ALG_DOT_BF16_BF16_FP8X3=14 ALG_DOT_BF16_BF16_FP8X4=15",
    ),
    ("TriangularSolveOptions.Transpose", "TRANSPOSE_INVALID=0 NO_TRANSPOSE=1 TRANSPOSE=2 ADJOINT=3"),
    ("ResultAccuracy.Mode", "DEFAULT=0 HIGHEST=1"),
    ("Kind", "UNDEFINED_ALIAS=0 MAY_ALIAS=1 MUST_ALIAS=2"),
    ("HloModuleProto.ProfileType", "INVALID=0 FLAG=1 FUSION=2 LAYOUT=3 DOT=4 FLAGNET=5 SHARDING=6 SCHEDULE=7"),
    ("DebugAttributesProto.DebugLogModeProto", "NONE=0 DEFAULT=1 FUSION_DEBUGGER=2 NO_FUSION=3 GUARANTEED=4"),
];

static FIELDS: LazyLock<Vec<Vec<FieldSpec>>> = LazyLock::new(|| {
    let field = |word: &'static str| {
        let (number, rest) = word.split_once('=').unwrap_or((word, ""));
        let (name, ty) = rest.split_once(':').unwrap_or((rest, ""));
        let (ty, is_repeated) = ty.strip_suffix('*').map_or((ty, false), |ty| (ty, true));
        let ty = match ty {
            "i" => Type::Integer,
            "f" => Type::Float,
            "d" => Type::Double,
            "s" => Type::Bytes,
            _ => match ty.strip_prefix('@') {
                Some(name) => ENUMS.iter().position(|row| row.0 == name).map_or(Type::Integer, Type::Enum),
                None => message(ty).map_or(Type::Skipped, Type::Message),
            },
        };
        FieldSpec { number: number.parse().unwrap_or(0), name, ty, is_repeated }
    };
    MESSAGES.iter().map(|row| row.1.split_whitespace().map(field).collect()).collect()
});

/// The number of the message with this name.
pub(super) fn message(name: &str) -> Option<usize> {
    MESSAGES.iter().position(|row| row.0 == name)
}

/// The name of a message.
pub(super) fn message_name(message: usize) -> &'static str {
    MESSAGES[message].0
}

/// The fields of each message, by their numbers.
pub(super) fn all() -> &'static [Vec<FieldSpec>] {
    &FIELDS
}

/// The value of a word of an enum.
pub(super) fn enum_value(number: usize, word: &str) -> Option<u64> {
    let words = ENUMS[number].1.split_whitespace().filter_map(|word| word.split_once('='));
    words.into_iter().find(|(name, _)| *name == word).and_then(|(_, value)| value.parse().ok())
}

/// The name of an enum.
pub(super) fn enum_name(number: usize) -> &'static str {
    ENUMS[number].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        let first = [MODULE, COMPUTATION, INSTRUCTION, SHAPE].map(message_name);
        assert_eq!(first, ["HloModuleProto", "HloComputationProto", "HloInstructionProto", "ShapeProto"]);
        assert!(FILES.iter().all(|name| message(name).is_some()));
        for (row, fields) in MESSAGES.iter().zip(all()) {
            for (word, field) in row.1.split_whitespace().zip(fields) {
                assert!(field.number > 0 && !field.name.is_empty(), "{word}");
                assert!(field.ty != Type::Skipped || word.ends_with(":-") || word.ends_with(":-*"), "{word}");
                assert!(!word.contains('@') || matches!(field.ty, Type::Enum(_)), "{word}");
            }
        }
    }
}
