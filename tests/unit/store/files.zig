pub const tests: []const []const u8 = &.{"test_manifest_read"};
