//! Test programs of base, without ".c".
pub const tests: []const []const u8 = &.{
    "test_fail",
    "test_file",
    "test_fork",
    "test_json",
    "test_json_write",
    "test_os",
    "test_process",
    "test_text",
    "test_values",
};
