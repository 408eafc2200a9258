pub const files: []const []const u8 = &.{};
