pub const tests: []const []const u8 = &.{};
