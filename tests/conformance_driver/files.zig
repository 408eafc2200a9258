pub const tests: []const []const u8 = &.{ "test_driver", "test_driver_absent", "test_driver_calls", "test_driver_examine", "test_driver_gpu", "test_driver_threads", "test_driver_triton" };
