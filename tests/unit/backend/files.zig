pub const tests: []const []const u8 = &.{
    "test_contract",
    "test_host_backend",
    "test_host_faults",
    "test_host_reader",
    "test_host_text",
    "test_host_toolchain",
    "test_pitfall_04_headers",
    "test_pitfall_05_environment",
};
