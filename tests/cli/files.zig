pub const tests: []const []const u8 = &.{ "test_requests", "test_run" };
