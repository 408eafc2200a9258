/// Each target is one file, fuzz/NAME.c, linked with the support files and either libFuzzer or replay_main.c; its seeds and
/// everything it ever found lie in fuzz/corpus/NAME.
pub const targets: []const []const u8 = &.{
    "fuzz_json",     "fuzz_record", "fuzz_request",     "fuzz_host_binary", "fuzz_contract_json",  "fuzz_ptx",
    "fuzz_manifest", "fuzz_memo",   "fuzz_elf_closure", "fuzz_depfile",     "fuzz_toolchain_text", "fuzz_lifecycle",
};
pub const support: []const []const u8 = &.{ "fuzz_support.c", "fuzz_os.c" };
/// From tests/support: what fuzz_lifecycle stands on.
pub const test_support: []const []const u8 = &.{ "null_driver.c", "fault_os.c" };
