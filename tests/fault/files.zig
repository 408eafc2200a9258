pub const tests: []const []const u8 = &.{
    "test_store_alloc",
    "test_store_faults",
    "test_store_kill",
};
