pub const tests: []const []const u8 = &.{ "test_inspect", "test_interrupt", "test_requests", "test_run", "test_run_gpu", "test_stats", "test_warm", "test_why" };
