pub const files: []const []const u8 = &.{"main.c"};
