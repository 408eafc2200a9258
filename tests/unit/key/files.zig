pub const tests: []const []const u8 = &.{
    "test_elf_closure",
    "test_identity",
    "test_key",
    "test_memo",
    "test_pitfall_06_08_memo",
    "test_record",
    "test_record_writer",
    "test_request",
    "test_sha256",
    "test_spec",
    "test_tree",
    "test_vectors",
};
