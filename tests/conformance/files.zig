pub const tests: []const []const u8 = &.{
    "test_pitfalls_locks",
    "test_pitfalls_store",
    "test_pitfalls_trust",
    "test_store_b1_entries",
    "test_store_b1_identity",
    "test_store_b1_modes",
    "test_store_b1_publish",
    "test_store_b1_threads",
    "test_store_concurrency",
    "test_store_fixtures",
    "test_store_private",
    "test_store_protocol",
};
