pub const programs: []const []const u8 = &.{};
