pub const files: []const []const u8 = &.{"slt.c"};
