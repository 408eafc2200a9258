/// Each target is one file, fuzz/NAME.c, linked with the support files and libFuzzer, replay_main.c, mutate_main.c or
/// afl_main.c; its seeds and everything it ever found lie in fuzz/corpus/NAME.
pub const targets: []const []const u8 = &.{
    "fuzz_json",     "fuzz_record",  "fuzz_request",     "fuzz_host_binary",     "fuzz_contract_json",  "fuzz_ptx",
    "fuzz_manifest", "fuzz_memo",    "fuzz_elf_closure", "fuzz_depfile",         "fuzz_toolchain_text", "fuzz_lifecycle",
    "fuzz_cubin",    "fuzz_fatbin",  "fuzz_amdgcn",      "fuzz_bundle",          "fuzz_inspect",        "fuzz_same_kernel",
    "fuzz_triton_metadata",
};
pub const support: []const []const u8 = &.{
    "fuzz_support.c", "fuzz_os.c", "fuzz_contract.c", "fuzz_kernels.c", "fuzz_write_ptx.c", "fuzz_write_cubin.c",
};
/// From tests/support: what fuzz_lifecycle stands on.
pub const test_support: []const []const u8 = &.{ "null_driver.c", "fault_os.c" };

/// Fixtures that are replayed beside the corpus.
pub const Seeds = struct { target: []const u8, folders: []const []const u8 };
pub const fixtures: []const Seeds = &.{
    .{ .target = "fuzz_ptx", .folders = &.{ "tests/fixtures/ptx", "tests/fixtures/ptx-cases" } },
    .{ .target = "fuzz_cubin", .folders = &.{"tests/fixtures/cubin"} },
    .{ .target = "fuzz_fatbin", .folders = &.{"tests/fixtures/fatbin"} },
    .{ .target = "fuzz_amdgcn", .folders = &.{"tests/fixtures/hsaco"} },
    .{ .target = "fuzz_bundle", .folders = &.{"tests/fixtures/hsaco"} },
};

/// What makes hostile files, in fuzz/hostile.
pub const hostile: []const []const u8 = &.{
    "hostile.c", "blob.c", "hostile_text.c", "hostile_cubin.c", "hostile_elf.c", "hostile_container.c",
};
