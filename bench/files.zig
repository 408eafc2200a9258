pub const programs: []const []const u8 = &.{ "bench_hit", "bench_launch", "bench_cuda", "bench_run", "bench_identity" };
