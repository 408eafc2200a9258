pub const tests: []const []const u8 = &.{
    "test_key",
    "test_record",
    "test_request",
    "test_sha256",
    "test_spec",
    "test_vectors",
};
