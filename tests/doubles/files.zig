/// What both doubles share, then each one's own; all relative to this folder.
pub const common: []const []const u8 = &.{ "double_core.c", "double_objects.c", "double_work.c" };
pub const cuda: []const []const u8 = &.{ "cuda/cuda_context.c", "cuda/cuda_image.c", "cuda/cuda_launch.c", "cuda/cuda_module.c", "cuda/cuda_state.c", "cuda/cuda_stream.c", "cuda/cuda_symbols.c" };
pub const hip: []const []const u8 = &.{ "hip/hip_image.c", "hip/hip_module.c", "hip/hip_state.c", "hip/hip_stream.c" };
