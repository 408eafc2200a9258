pub const tests: []const []const u8 = &.{
    "test_entry",
    "test_flight",
    "test_inventory",
    "test_lock",
    "test_lookup",
    "test_manifest",
    "test_manifest_read",
    "test_publish",
};
