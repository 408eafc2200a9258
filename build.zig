//! The only build. Steps at the top of build(), then one function a step. Explicit lists: each room's sources stand in
//! src/<room>/files.zig, each test folder's programs in its files.zig.
const std = @import("std");
const builtin = @import("builtin");
const Headers = @import("tools/build/Headers.zig");

comptime {
    const v = builtin.zig_version;
    if (v.major != 0 or v.minor < 16 or v.minor > 17) @compileError("slipway is built with Zig 0.16 or 0.17");
}

/// A room sees its own folder and the folders it may use; an include of any other room does not compile.
const Room = struct { name: []const u8, files: []const []const u8, sees: []const []const u8 };

const rooms = [_]Room{
    .{ .name = "base", .files = @import("src/base/files.zig").files, .sees = &.{} },
    .{ .name = "key", .files = @import("src/key/files.zig").files, .sees = &.{"src/base"} },
    .{ .name = "store", .files = @import("src/store/files.zig").files, .sees = &.{ "src/store/interface", "src/key", "src/base" } },
    .{ .name = "backend", .files = @import("src/backend/files.zig").files, .sees = &.{ "src/backend/ptx", "src/backend/cuda", "src/backend/hip", "src/backend/host", "src/backend/tool", "src/backend/interface", "src/key", "src/base" } },
    .{ .name = "device", .files = @import("src/device/files.zig").files, .sees = &.{ "src/device/interface", "src/device/gpu", "src/device/cuda", "src/device/hip", "src/key", "src/base" } },
    .{ .name = "lifecycle", .files = @import("src/lifecycle/files.zig").files, .sees = &.{ "src/store/interface", "src/backend/interface", "src/device/interface", "src/key", "src/base" } },
};

const TestFolder = struct { folder: []const u8, tests: []const []const u8 };

const test_folders = [_]TestFolder{
    .{ .folder = "tests/unit/base", .tests = @import("tests/unit/base/files.zig").tests },
    .{ .folder = "tests/unit/key", .tests = @import("tests/unit/key/files.zig").tests },
    .{ .folder = "tests/unit/store", .tests = @import("tests/unit/store/files.zig").tests },
    .{ .folder = "tests/unit/backend", .tests = @import("tests/unit/backend/files.zig").tests },
    .{ .folder = "tests/unit/device", .tests = @import("tests/unit/device/files.zig").tests },
    .{ .folder = "tests/unit/lifecycle", .tests = @import("tests/unit/lifecycle/files.zig").tests },
    .{ .folder = "tests/conformance", .tests = @import("tests/conformance/files.zig").tests },
    .{ .folder = "tests/conformance_driver", .tests = @import("tests/conformance_driver/files.zig").tests },
    .{ .folder = "tests/fault", .tests = @import("tests/fault/files.zig").tests },
    .{ .folder = "tests/cli", .tests = @import("tests/cli/files.zig").tests },
};

const test_support = @import("tests/support/files.zig").files;
const double_files = @import("tests/doubles/files.zig");
/// Doubles of the vendors' driver libraries: built for tests alone, told to them by path, never installed.
const Double = struct { kind: []const u8, name: []const u8, major: usize, files: []const []const u8 };
const doubles = [_]Double{
    .{ .kind = "cuda", .name = "cuda", .major = 1, .files = double_files.cuda },
    .{ .kind = "hip", .name = "amdhip64", .major = 6, .files = double_files.hip },
};
const cli_files = @import("cli/files.zig").files;
const fuzz = @import("fuzz/files.zig");
const gpu_files = @import("tests/gpu/files.zig").files;
const bench_programs = @import("bench/files.zig").programs;
const Example = struct { name: []const u8, source: []const u8 = "examples/kernels/saxpy.c" };
const examples = [_]Example{ .{ .name = "embed" }, .{ .name = "table_of_kernels" }, .{ .name = "custom_backend", .source = "examples/kernels/square.tiny" } };

/// Tests look into every room; they are the only code that may.
const test_includes = [_][]const u8{
    "tests/support",       "src/base",              "src/key",
    "src/store",           "src/store/interface",   "src/backend",
    "src/backend/interface", "src/backend/tool",    "src/backend/host",
    "src/backend/ptx",
    "src/backend/cuda",      "src/backend/hip",     "src/device",
    "src/device/interface", "src/device/host",      "src/device/gpu",
    "src/device/cuda",      "src/device/hip",       "src/lifecycle",
};

const library_flags = [_][]const u8{
    "-std=c11",            "-D_GNU_SOURCE",         "-D_FILE_OFFSET_BITS=64", "-fvisibility=hidden",
    "-Wall",               "-Wextra",               "-Wpedantic",             "-Werror",
    "-Wconversion",        "-Wshadow",              "-Wstrict-prototypes",    "-Wmissing-prototypes",
    "-Wvla",               "-Wcast-qual",           "-Wnull-dereference",
};
/// The inner loops of hashing: optimised in every mode, and without the traps of UBSan, which cost two lanes a quarter (the asan step has both on).
const hashing_flags = library_flags ++ [_][]const u8{ "-O2", "-fno-sanitize=undefined" };
/// What a vendor's library gives may be anybody's function (a tool's between us), of a type in other words than ours.
const device_flags = library_flags ++ [_][]const u8{"-fno-sanitize=function"};
/// Check's macros use GNU extensions, so tests go without -Wpedantic.
const test_flags = [_][]const u8{ "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wshadow" };
/// Without the check of a callee's type, as the vendors' libraries are: each side declares them in words of its own.
const double_flags = test_flags ++ [_][]const u8{ "-fvisibility=hidden", "-fno-sanitize=function" };
/// Examples and the command are built as a careful user would, with the phase analysis on.
const user_flags = [_][]const u8{
    "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-DSLW_CHECK_PHASES", "-Wthread-safety",
};

/// json-c's own folder must not be searched (pkg-config would add it): its json.h would be taken for base's.
fn linkLibraries(m: *std.Build.Module) void {
    m.linkSystemLibrary("libsodium", .{});
    m.linkSystemLibrary("json-c", .{ .use_pkg_config = .no });
}

const Build = struct {
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,
    library: *std.Build.Step.Compile,
    shared: *std.Build.Step.Compile,
    command: *std.Build.Step.Compile,
    doubles: [doubles.len]?std.Build.LazyPath, // null: not written yet
};

/// Set before anything is built.
var headers: Headers = undefined;

fn addSources(b: *std.Build, m: *std.Build.Module, folder: []const u8, files: []const []const u8, flags: []const []const u8) void {
    for (files) |file| {
        const source = b.fmt("{s}/{s}", .{ folder, file });
        m.addCSourceFile(.{ .file = b.path(source), .flags = headers.with(source, flags) });
    }
}

pub fn build(b: *std.Build) void {
    headers = .init(b, &.{ "include", "src", "cli", "tests", "fuzz", "bench", "examples", "tools" });
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const clang = b.option([]const u8, "clang", "the clang for asan, tsan and lint (default clang-16)") orelse "clang-16";
    const tidy = b.option([]const u8, "clang-tidy", "the clang-tidy for lint (default clang-tidy)") orelse "clang-tidy";

    const steps = .{
        .run_tests = b.step("test", "every test that can run on this machine"),
        .unit = b.step("test-unit", "the Check programs only"),
        .build_tests = b.step("test-build", "build every test program, run none"),
        .house = b.step("house", "house rules: rooms, bans, exported names, versions"),
        .compile_fail = b.step("test-compile-fail", "the programs that must not compile, and their good twins"),
        .lint = b.step("lint", "clang-tidy over src/, warnings as errors"),
        .asan = b.step("asan", "the Check programs under AddressSanitizer and UBSan (clang)"),
        .tsan = b.step("tsan", "the Check programs under ThreadSanitizer (clang)"),
        .package = b.step("package", "a Zig project that depends on this one builds and runs"),
        .replay = b.step("replay", "run every corpus file of fuzz/ through its target"),
        .fuzz_build = b.step("fuzz-build", "the fuzz targets with libFuzzer, ASan and UBSan (clang), into zig-out/fuzz"),
        .fuzz_afl_build = b.step("fuzz-afl-build", "the fuzz targets for AFL++ (afl-clang-fast), into zig-out/afl"),
        .fuzz_afl = b.step("fuzz-afl", "a campaign of AFL++: -Dseconds=N [-- TARGET…]"),
        .mutate = b.step("mutate", "mutations of the fixtures under ASan and UBSan: -Dcount=N [-- READER…]"),
        .hostile = b.step("hostile", "each reader's seconds for 32 and 64 MiB of hostile file (with -Doptimize=ReleaseFast)"),
        .coverage = b.step("coverage", "lines of the readers that the corpus reaches (clang)"),
        .ptx_diff = b.step("ptx-diff", "the PTX scanner against ptxas, where there is one"),
        .gpu = b.step("gpu", "the checks of tests/gpu over the double, and over the GPU where there is one"),
        .gpu_check = b.step("gpu-check", "the checks of a real GPU, for any x86-64 Linux, into zig-out/gpu (tests/gpu)"),
        .doubles = b.step("doubles", "the doubles of libcuda and libamdhip64, into zig-out/doubles"),
        .bench = b.step("bench", "benchmarks: ratios to a floor measured in the same run"),
        .demo = b.step("demo", "six kernels cold, then hot, on the host driver"),
        .rest = b.step("install-rest", "what `install` has beside the static library and its headers: the shared one, the commands"),
        .check = b.step("check", "compile everything, and the library for the cross targets; run nothing"),
    };

    const library = staticLibrary(b, target, optimize);
    library.installHeadersDirectory(b.path("include"), "", .{});
    b.installArtifact(library);
    // Three things are called slipway. What a package that depends on this one gets by that name is the static library, the only one that
    // `install` has at its first level.
    b.getInstallStep().dependOn(steps.rest);
    const shared = sharedLibrary(b, target, optimize);
    steps.rest.dependOn(&b.addInstallArtifact(shared, .{}).step);
    const command = userProgram(b, target, optimize, library, "slipway", "cli", cli_files);
    steps.rest.dependOn(&b.addInstallArtifact(command, .{}).step);
    const nvrtc = nvrtcProgram(b, target, optimize);
    steps.rest.dependOn(&b.addInstallArtifact(nvrtc, .{}).step);
    steps.build_tests.dependOn(&nvrtc.step);

    const s = Build{ .b = b, .target = target, .optimize = optimize, .library = library, .shared = shared, .command = command, .doubles = buildDoubles(b, target, optimize) };

    for (doubles, s.doubles) |d, path| if (path) |p|
        steps.doubles.dependOn(&b.addInstallFileWithDir(p, .{ .custom = "doubles" }, b.fmt("lib{s}.so.{d}", .{ d.name, d.major })).step);
    addTests(s, steps.unit, steps.build_tests);
    addHouse(s, steps.house);
    addCompileFail(s, steps.compile_fail);
    steps.run_tests.dependOn(steps.unit);
    steps.run_tests.dependOn(steps.house);
    steps.run_tests.dependOn(steps.compile_fail);
    addPackage(s, steps.package);
    steps.run_tests.dependOn(steps.package);
    addReplay(s, steps.replay);
    steps.run_tests.dependOn(steps.replay);
    addGpuCheck(s, steps.gpu_check, steps.gpu);
    steps.run_tests.dependOn(steps.gpu);
    addFuzz(s, steps.fuzz_build, clang);
    addFuzzAfl(s, steps.fuzz_afl_build, steps.fuzz_afl);
    addMutate(s, steps.mutate, clang);
    addHostile(s, steps.hostile);
    addCoverage(s, steps.coverage, clang);
    addPtxDiff(s, steps.ptx_diff);
    addLint(s, steps.lint, tidy);
    addSanitized(s, steps.asan, clang, "asan", &.{ "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer" });
    addSanitized(s, steps.tsan, clang, "tsan", &.{"-fsanitize=thread"});
    addBench(s, steps.bench, steps.build_tests, steps.unit);
    addDemo(s, steps.demo, steps.build_tests);
    addExamples(s, steps.build_tests, steps.unit);
    addCheck(s, steps.check, steps.build_tests);
}

fn roomModule(b: *std.Build, r: Room, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Module {
    // Trapping UBSan needs no run-time, so the static library links with any C compiler.
    const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = .trap, .pic = true });
    m.addIncludePath(b.path("include"));
    m.addIncludePath(b.path(b.fmt("src/{s}", .{r.name})));
    for (r.sees) |folder| m.addIncludePath(b.path(folder));
    for (r.files) |file| addSources(b, m, b.fmt("src/{s}", .{r.name}), &.{file}, flagsOf(r, file));
    return m;
}

fn flagsOf(r: Room, file: []const u8) []const []const u8 {
    if (std.mem.eql(u8, r.name, "device")) return &device_flags;
    return if (isHashing(file)) &hashing_flags else &library_flags;
}

/// Without optimisation the intrinsics cost twenty times as much, and every test hashes: these files are always optimised.
fn isHashing(file: []const u8) bool {
    return std.mem.eql(u8, file, "sha256_x86.c") or std.mem.eql(u8, file, "sha256_arm.c");
}

/// `system`: the headers of libsodium and json-c, for a target that is not this machine.
fn roomObjects(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode, system: ?std.Build.LazyPath) *std.Build.Module {
    const all = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = .trap, .pic = true });
    for (rooms) |r| {
        if (r.files.len == 0) continue;
        const m = roomModule(b, r, target, optimize);
        if (system) |folder| m.addIncludePath(folder);
        all.addObject(b.addObject(.{ .name = r.name, .root_module = m }));
    }
    return all;
}

fn staticLibrary(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Step.Compile {
    const lib = b.addLibrary(.{ .name = "slipway", .linkage = .static, .root_module = roomObjects(b, target, optimize, null) });
    lib.bundle_ubsan_rt = false;
    lib.bundle_compiler_rt = false;
    return lib;
}

fn sharedLibrary(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Step.Compile {
    const m = roomObjects(b, target, optimize, null);
    linkLibraries(m);
    return b.addLibrary(.{ .name = "slipway", .linkage = .dynamic, .root_module = m, .version = .{ .major = 0, .minor = 1, .patch = 0 } });
}

fn userProgram(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode, library: *std.Build.Step.Compile, name: []const u8, folder: []const u8, files: []const []const u8) *std.Build.Step.Compile {
    const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = .trap });
    m.addIncludePath(b.path("include"));
    m.addIncludePath(b.path(folder));
    addSources(b, m, folder, files, &user_flags);
    m.linkLibrary(library);
    linkLibraries(m);
    return b.addExecutable(.{ .name = name, .root_module = m });
}

/// NVRTC as a program of its own, which the cuda backend starts: it needs nothing of the library.
fn nvrtcProgram(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Step.Compile {
    const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = .trap });
    addSources(b, m, "tools", &.{"slipway_nvrtc.c"}, &user_flags);
    return b.addExecutable(.{ .name = "slipway-nvrtc", .root_module = m });
}

fn addTests(s: Build, run_step: *std.Build.Step, build_step: *std.Build.Step) void {
    const b = s.b;
    const support = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
    testIncludes(b, support);
    addSources(b, support, "tests/support", test_support, &test_flags);
    const support_object = b.addObject(.{ .name = "support", .root_module = support });
    for (test_folders) |folder| for (folder.tests) |name| {
        const m = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
        testIncludes(b, m);
        addSources(b, m, folder.folder, &.{b.fmt("{s}.c", .{name})}, &test_flags);
        m.addObject(support_object);
        m.linkLibrary(s.library);
        linkLibraries(m);
        m.linkSystemLibrary("check", .{});
        const program = b.addExecutable(.{ .name = name, .root_module = m });
        build_step.dependOn(&program.step);
        const run = b.addRunArtifact(program);
        runInTree(s, run);
        run_step.dependOn(&run.step);
    };
}

/// The doubles with the soname of what they stand for.
fn buildDoubles(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) [doubles.len]?std.Build.LazyPath {
    var built: [doubles.len]?std.Build.LazyPath = @splat(null);
    for (doubles, &built) |d, *out| {
        if (d.files.len == 0) continue;
        const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = .trap, .pic = true });
        m.addIncludePath(b.path("tests/doubles"));
        m.addIncludePath(b.path(b.fmt("tests/doubles/{s}", .{d.kind})));
        for ([_][]const []const u8{ double_files.common, d.files }) |files|
            addSources(b, m, "tests/doubles", files, &double_flags);
        const library = b.addLibrary(.{ .name = d.name, .linkage = .dynamic, .root_module = m, .version = .{ .major = d.major, .minor = 0, .patch = 0 } });
        out.* = library.getEmittedBin();
    }
    return built;
}

/// Programs under test run in the top of the tree, where they find their fixtures; the first argument is the command, then --double-KIND=PATH for each double.
/// Their output is shown each time, so that the suites' closing lines are.
fn runInTree(s: Build, run: *std.Build.Step.Run) void {
    run.addArtifactArg(s.command);
    runWithDoubles(s, run, s.doubles);
}

fn runWithDoubles(s: Build, run: *std.Build.Step.Run, built: [doubles.len]?std.Build.LazyPath) void {
    for (doubles, built) |d, path| if (path) |p| run.addPrefixedFileArg(s.b.fmt("--double-{s}=", .{d.kind}), p);
    run.stdio = .inherit;
    run.has_side_effects = true;
    run.setCwd(s.b.path("."));
}

fn testIncludes(b: *std.Build, m: *std.Build.Module) void {
    m.addIncludePath(b.path("include"));
    for (test_includes) |folder| m.addIncludePath(b.path(folder));
}

fn script(s: Build, path: []const u8) *std.Build.Step.Run {
    const run = s.b.addSystemCommand(&.{ "sh", path });
    run.stdio = .inherit;
    run.has_side_effects = true;
    run.setCwd(s.b.path("."));
    run.setEnvironmentVariable("ZIG", s.b.graph.zig_exe);
    return run;
}

fn addReplay(s: Build, step: *std.Build.Step) void {
    const b = s.b;
    const support = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
    testIncludes(b, support);
    support.addIncludePath(b.path("fuzz"));
    addSources(b, support, "fuzz", fuzz.support, &test_flags);
    addSources(b, support, "fuzz", &.{"replay_main.c"}, &test_flags);
    addSources(b, support, "tests/support", fuzz.test_support, &test_flags);
    const support_object = b.addObject(.{ .name = "fuzz_support", .root_module = support });
    for (fuzz.targets) |name| {
        const m = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
        testIncludes(b, m);
        m.addIncludePath(b.path("fuzz"));
        addSources(b, m, "fuzz", &.{b.fmt("{s}.c", .{name})}, &test_flags);
        m.addObject(support_object);
        m.linkLibrary(s.library);
        linkLibraries(m);
        const run = b.addRunArtifact(b.addExecutable(.{ .name = name, .root_module = m }));
        run.addDirectoryArg(b.path(b.fmt("fuzz/corpus/{s}", .{name})));
        for (fuzz.fixtures) |seeds| {
            if (std.mem.eql(u8, seeds.target, name)) for (seeds.folders) |folder| run.addArg(folder);
        }
        run.setCwd(b.path("."));
        run.stdio = .inherit;
        run.has_side_effects = true;
        step.dependOn(&run.step);
    }
}

/// One way to build every fuzz target: the compiler, what instruments it, how it is linked, and the main that feeds it.
const FuzzBuild = struct {
    folder: []const u8, // of zig-out
    clang: []const u8,
    flags: []const []const u8,
    link: []const []const u8,
    main: ?[]const u8, // null: the linker brings one
};

const asan_flags = [_][]const u8{ "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer" };

fn addFuzzPrograms(s: Build, step: *std.Build.Step, how: FuzzBuild) void {
    const b = s.b;
    const includes = [_][]const u8{ "include", "fuzz" } ++ test_includes;
    var objects: std.ArrayList(std.Build.LazyPath) = .empty;
    objects.appendSlice(b.allocator, clangRooms(b, how.clang, how.flags)) catch @panic("OOM");
    for (fuzz.support) |file|
        objects.append(b.allocator, clangObject(b, how.clang, how.flags, &test_flags, &includes, b.fmt("fuzz/{s}", .{file}))) catch @panic("OOM");
    for (fuzz.test_support) |file|
        objects.append(b.allocator, clangObject(b, how.clang, how.flags, &test_flags, &includes, b.fmt("tests/support/{s}", .{file}))) catch @panic("OOM");
    if (how.main) |file|
        objects.append(b.allocator, clangObject(b, how.clang, how.flags, &test_flags, &includes, b.fmt("fuzz/{s}", .{file}))) catch @panic("OOM");
    for (fuzz.targets) |name| {
        const link = b.addSystemCommand(&.{how.clang});
        link.addArgs(how.link);
        link.addFileArg(clangObject(b, how.clang, how.flags, &test_flags, &includes, b.fmt("fuzz/{s}.c", .{name})));
        for (objects.items) |o| link.addFileArg(o);
        link.addArgs(&.{ "-lsodium", "-ljson-c", "-lm", "-lpthread", "-ldl", "-o" });
        const program = link.addOutputFileArg(name);
        step.dependOn(&b.addInstallFile(program, b.fmt("{s}/{s}", .{ how.folder, name })).step);
    }
}

/// libFuzzer. The campaigns themselves are run by hand: docs/fuzzing.md.
fn addFuzz(s: Build, step: *std.Build.Step, clang: []const u8) void {
    addFuzzPrograms(s, step, .{
        .folder = "fuzz",
        .clang = clang,
        .flags = &.{ "-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer" },
        .link = &.{"-fsanitize=fuzzer,address,undefined"},
        .main = null,
    });
}

/// AFL++ in persistent mode: `fuzz-afl-build` builds, `fuzz-afl` runs a campaign of -Dseconds a target. What stands behind `--`
/// are the targets; none: all.
fn addFuzzAfl(s: Build, build_step: *std.Build.Step, run_step: *std.Build.Step) void {
    const b = s.b;
    const seconds = b.option([]const u8, "seconds", "fuzz-afl: how long each target is run (default 60)") orelse "60";
    addFuzzPrograms(s, build_step, .{ .folder = "afl", .clang = "afl-clang-fast", .flags = &asan_flags, .link = &asan_flags, .main = "afl_main.c" });
    const run = script(s, "fuzz/campaign.sh");
    run.addArg(seconds);
    addRest(b, run);
    run.step.dependOn(build_step);
    run_step.dependOn(&run.step);
}

/// Mutations of the fixtures under ASan and UBSan: -Dcount of them a reader.
fn addMutate(s: Build, step: *std.Build.Step, clang: []const u8) void {
    const b = s.b;
    const count = b.option([]const u8, "count", "mutate: mutations a reader (default 20000)") orelse "20000";
    const run = script(s, "fuzz/mutate.sh");
    addFuzzPrograms(s, &run.step, .{ .folder = "mutate", .clang = clang, .flags = &asan_flags, .link = &asan_flags, .main = "mutate_main.c" });
    run.addArg(count);
    addRest(b, run);
    step.dependOn(&run.step);
}

/// How many lines of the readers the corpus reaches.
fn addCoverage(s: Build, step: *std.Build.Step, clang: []const u8) void {
    const flags = [_][]const u8{ "-fprofile-instr-generate", "-fcoverage-mapping" };
    const run = script(s, "fuzz/coverage.sh");
    addFuzzPrograms(s, &run.step, .{ .folder = "coverage", .clang = clang, .flags = &flags, .link = &flags, .main = "replay_main.c" });
    step.dependOn(&run.step);
}

/// Our PTX scanner against ptxas, where there is one: tests/ptx_diff.
fn addPtxDiff(s: Build, step: *std.Build.Step) void {
    const run = script(s, "tests/ptx_diff/run.sh");
    run.addArtifactArg(toolProgram(s, "ptx_diff", "tests/ptx_diff", &.{"ptx_diff.c"}));
    addRest(s.b, run);
    step.dependOn(&run.step);
}

/// Seconds of each reader for files of 32 and 64 MiB made to hurt it.
fn addHostile(s: Build, step: *std.Build.Step) void {
    const b = s.b;
    const run = b.addRunArtifact(toolProgram(s, "hostile", "fuzz/hostile", fuzz.hostile));
    addRest(b, run);
    run.setCwd(b.path("."));
    run.stdio = .inherit;
    run.has_side_effects = true;
    step.dependOn(&run.step);
}

/// What stands behind `--` on the command line.
fn addRest(b: *std.Build, run: *std.Build.Step.Run) void {
    if (@hasDecl(std.Build.Step.Run, "addPassthruArgs")) {
        run.addPassthruArgs();
    } else if (b.args) |arguments| run.addArgs(arguments);
}

/// A program that looks into every room.
fn toolProgram(s: Build, name: []const u8, folder: []const u8, files: []const []const u8) *std.Build.Step.Compile {
    const m = s.b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
    testIncludes(s.b, m);
    addSources(s.b, m, folder, files, &test_flags);
    m.linkLibrary(s.library);
    linkLibraries(m);
    return s.b.addExecutable(.{ .name = name, .root_module = m });
}

fn gpuProgram(b: *std.Build, m: *std.Build.Module) *std.Build.Step.Compile {
    m.addIncludePath(b.path("include"));
    addSources(b, m, "tests/gpu", gpu_files, &test_flags);
    return b.addExecutable(.{ .name = "gpu_check", .root_module = m });
}

/// tests/gpu: a program to carry to a machine with a GPU, which needs a C library and a driver there and nothing else. The
/// suite runs the same over the double, and where there is a GPU over that.
fn addGpuCheck(s: Build, step: *std.Build.Step, run_step: *std.Build.Step) void {
    const b = s.b;
    const anywhere = b.resolveTargetQuery(.{ .cpu_arch = .x86_64, .cpu_model = .baseline, .os_tag = .linux, .abi = .gnu, .glibc_version = .{ .major = 2, .minor = 31, .patch = 0 } });
    const portable = roomObjects(b, anywhere, .ReleaseFast, systemHeaders(b));
    for ([_][]const u8{ "libsodium.a", "libjson-c.a" }) |archive|
        portable.addObjectFile(.{ .cwd_relative = b.fmt("/usr/lib/x86_64-linux-gnu/{s}", .{archive}) });
    step.dependOn(&b.addInstallArtifact(gpuProgram(b, portable), .{ .dest_dir = .{ .override = .{ .custom = "gpu" } } }).step);

    const m = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .trap });
    m.linkLibrary(s.library);
    linkLibraries(m);
    const program = gpuProgram(b, m);
    const on_device = script(s, "tests/gpu/run.sh");
    on_device.addArg("--program");
    on_device.addArtifactArg(program);
    on_device.addArg("--json");
    _ = on_device.addOutputFileArg("gpu.json");
    run_step.dependOn(&on_device.step);
    if (s.doubles[0]) |double| {
        const run = b.addRunArtifact(program);
        run.addArgs(&.{ "--quick", "--driver-library" });
        run.addFileArg(double);
        run.setCwd(b.path("."));
        run.stdio = .inherit;
        run.has_side_effects = true;
        run_step.dependOn(&run.step);
    }
}

fn addHouse(s: Build, step: *std.Build.Step) void {
    const run = script(s, "tests/tidy/run.sh");
    run.addArtifactArg(s.shared);
    run.addArtifactArg(s.library);
    step.dependOn(&run.step);
}

/// What another Zig project gets.
fn addPackage(s: Build, step: *std.Build.Step) void {
    step.dependOn(&script(s, "tests/package/run.sh").step);
}

fn addCompileFail(s: Build, step: *std.Build.Step) void {
    step.dependOn(&script(s, "tests/compile_fail/run.sh").step);
}

/// clang-tidy counts what it left out on standard error, which Zig would show beside every file.
const quiet_unless_it_fails =
    \\said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
;

fn addLint(s: Build, step: *std.Build.Step, tidy: []const u8) void {
    const b = s.b;
    for (rooms) |r| {
        for (r.files) |file| {
            const run = b.addSystemCommand(&.{ "sh", "-c", quiet_unless_it_fails, "lint", tidy, "--quiet", "--warnings-as-errors=*" });
            run.addFileArg(b.path(b.fmt("src/{s}/{s}", .{ r.name, file })));
            run.addArgs(&.{ "--", "-std=c11", "-D_GNU_SOURCE" });
            run.addPrefixedDirectoryArg("-I", b.path("include"));
            run.addPrefixedDirectoryArg("-I", b.path(b.fmt("src/{s}", .{r.name})));
            for (r.sees) |folder| run.addPrefixedDirectoryArg("-I", b.path(folder));
            run.addFileInput(b.path(".clang-tidy"));
            run.expectExitCode(0);
            step.dependOn(&run.step);
        }
    }
}

/// zig cc has no AddressSanitizer, so the sanitized programs are made by clang, one cached object a source: the test programs, the
/// command (which tests/cli's driver test is given; the others of tests/cli run the installed one) and gpu_check, over sanitized doubles.
fn addSanitized(s: Build, step: *std.Build.Step, clang: []const u8, name: []const u8, flags: []const []const u8) void {
    const b = s.b;
    const library = clangRooms(b, clang, flags);
    const sanitized_doubles = clangDoubles(b, clang, flags);
    const cli_objects = clangObjects(b, clang, flags, &user_flags, &.{ "include", "cli" }, "cli", cli_files);
    const command = clangProgram(b, clang, flags, &.{ cli_objects, library }, b.fmt("slipway-{s}", .{name}));
    const gpu_objects = clangObjects(b, clang, flags, &test_flags, &.{"include"}, "tests/gpu", gpu_files);
    if (sanitized_doubles[0]) |double| {
        const run = sanitizedRun(s, clangProgram(b, clang, flags, &.{ gpu_objects, library }, b.fmt("gpu_check-{s}", .{name})), name, "gpu_check");
        run.addArgs(&.{ "--quick", "--driver-library" });
        run.addFileArg(double);
        step.dependOn(&run.step);
    }
    const includes = [_][]const u8{"include"} ++ test_includes;
    const support = clangObjects(b, clang, flags, &test_flags, &includes, "tests/support", test_support);
    for (test_folders) |folder| for (folder.tests) |test_name| {
        if (std.mem.eql(u8, folder.folder, "tests/cli") and !std.mem.eql(u8, test_name, "test_run_gpu")) continue;
        const object = clangObject(b, clang, flags, &test_flags, &includes, b.fmt("{s}/{s}.c", .{ folder.folder, test_name }));
        const program = clangProgram(b, clang, flags, &.{ &.{object}, support, library }, b.fmt("{s}-{s}", .{ test_name, name }));
        const run = sanitizedRun(s, program, name, test_name);
        run.addFileArg(command);
        runWithDoubles(s, run, sanitized_doubles);
        step.dependOn(&run.step);
    };
}

fn sanitizedRun(s: Build, program: std.Build.LazyPath, name: []const u8, what: []const u8) *std.Build.Step.Run {
    const run = std.Build.Step.Run.create(s.b, s.b.fmt("run {s} {s}", .{ name, what }));
    run.addFileArg(program);
    run.stdio = .inherit;
    run.has_side_effects = true;
    run.setCwd(s.b.path("."));
    run.setEnvironmentVariable("SLT_SANITIZER", name); // slow tests do less
    run.setEnvironmentVariable("CK_TIMEOUT_MULTIPLIER", "8");
    run.setEnvironmentVariable("TSAN_OPTIONS", "halt_on_error=1 die_after_fork=0");
    run.setEnvironmentVariable("ASAN_OPTIONS", "detect_leaks=1 allocator_may_return_null=1");
    return run;
}

/// Linked by clang; of Check what a program does not need is not taken in.
fn clangProgram(b: *std.Build, clang: []const u8, flags: []const []const u8, objects: []const []const std.Build.LazyPath, name: []const u8) std.Build.LazyPath {
    const link = b.addSystemCommand(&.{clang});
    link.addArgs(flags);
    for (objects) |group| for (group) |o| link.addFileArg(o);
    link.addArgs(&.{ "-Wl,--as-needed", "-lsodium", "-ljson-c", "-lcheck", "-lsubunit", "-lm", "-lrt", "-lpthread", "-ldl", "-o" });
    return link.addOutputFileArg(name);
}

fn clangObjects(b: *std.Build, clang: []const u8, sanitize: []const []const u8, flags: []const []const u8, includes: []const []const u8, folder: []const u8, files: []const []const u8) []const std.Build.LazyPath {
    var objects: std.ArrayList(std.Build.LazyPath) = .empty;
    for (files) |file|
        objects.append(b.allocator, clangObject(b, clang, sanitize, flags, includes, b.fmt("{s}/{s}", .{ folder, file }))) catch @panic("OOM");
    return objects.items;
}

/// The library's objects by clang, with these sanitizer flags.
fn clangRooms(b: *std.Build, clang: []const u8, flags: []const []const u8) []const std.Build.LazyPath {
    var objects: std.ArrayList(std.Build.LazyPath) = .empty;
    for (rooms) |r| for (r.files) |file| {
        var includes: std.ArrayList([]const u8) = .empty;
        includes.append(b.allocator, "include") catch @panic("OOM");
        includes.append(b.allocator, b.fmt("src/{s}", .{r.name})) catch @panic("OOM");
        includes.appendSlice(b.allocator, r.sees) catch @panic("OOM");
        objects.append(b.allocator, clangObject(b, clang, flags, &library_flags, includes.items, b.fmt("src/{s}/{s}", .{ r.name, file }))) catch @panic("OOM");
    };
    return objects.items;
}

/// The doubles by clang, with the sanitizer of the programs that open them.
fn clangDoubles(b: *std.Build, clang: []const u8, flags: []const []const u8) [doubles.len]?std.Build.LazyPath {
    var built: [doubles.len]?std.Build.LazyPath = @splat(null);
    const with_pic = double_flags ++ [_][]const u8{"-fPIC"};
    for (doubles, &built) |d, *out| {
        if (d.files.len == 0) continue;
        const soname = b.fmt("lib{s}.so.{d}", .{ d.name, d.major });
        const includes = [_][]const u8{ "tests/doubles", b.fmt("tests/doubles/{s}", .{d.kind}) };
        const link = b.addSystemCommand(&.{ clang, "-shared", b.fmt("-Wl,-soname,{s}", .{soname}) });
        link.addArgs(flags);
        for ([_][]const []const u8{ double_files.common, d.files }) |files| for (files) |file|
            link.addFileArg(clangObject(b, clang, flags, &with_pic, &includes, b.fmt("tests/doubles/{s}", .{file})));
        link.addArgs(&.{ "-lpthread", "-o" });
        out.* = link.addOutputFileArg(soname);
    }
    return built;
}

fn clangObject(b: *std.Build, clang: []const u8, sanitize: []const []const u8, flags: []const []const u8, includes: []const []const u8, path: []const u8) std.Build.LazyPath {
    const cc = b.addSystemCommand(&.{ clang, "-O1", "-g", "-c" });
    cc.addArgs(sanitize);
    cc.addArgs(flags);
    for (includes) |folder| cc.addPrefixedDirectoryArg("-I", b.path(folder));
    cc.addFileArg(b.path(path));
    cc.addArg("-MD");
    cc.addArg("-MF");
    _ = cc.addDepFileOutputArg("object.d");
    cc.addArg("-o");
    const name = std.mem.replaceOwned(u8, b.allocator, path, "/", "_") catch @panic("OOM");
    return cc.addOutputFileArg(b.fmt("{s}.o", .{name}));
}

fn benchProgram(s: Build, name: []const u8) *std.Build.Step.Compile {
    const b = s.b;
    const m = b.createModule(.{ .target = s.target, .optimize = s.optimize, .link_libc = true, .sanitize_c = .off });
    testIncludes(b, m);
    m.addIncludePath(b.path("bench"));
    addSources(b, m, "bench", &.{ b.fmt("{s}.c", .{name}), "bench.c" }, &test_flags);
    m.linkLibrary(s.library);
    linkLibraries(m);
    return b.addExecutable(.{ .name = name, .root_module = m });
}

/// Always optimised: what Debug costs is nobody's figure. The tests go through each once, as they were built themselves.
fn addBench(s: Build, step: *std.Build.Step, build_step: *std.Build.Step, smoke_step: *std.Build.Step) void {
    const b = s.b;
    var optimised = s;
    if (s.optimize == std.builtin.OptimizeMode.Debug) {
        optimised.optimize = .ReleaseFast;
        optimised.library = staticLibrary(b, s.target, .ReleaseFast);
        optimised.command = userProgram(b, s.target, .ReleaseFast, optimised.library, "slipway", "cli", cli_files);
        optimised.doubles = buildDoubles(b, s.target, .ReleaseFast);
    }
    var previous: ?*std.Build.Step = null;
    for (bench_programs) |name| {
        const run = b.addRunArtifact(benchProgram(optimised, name));
        runInTree(optimised, run);
        // One after the other, or they would measure each other.
        if (previous) |before| run.step.dependOn(before);
        previous = &run.step;
        step.dependOn(&run.step);

        const program = benchProgram(s, name);
        build_step.dependOn(&program.step);
        const smoke = b.addRunArtifact(program);
        runInTree(s, smoke);
        smoke.stdio = .infer_from_args;
        smoke.setEnvironmentVariable("SLW_BENCH_SMOKE", "1");
        smoke.expectExitCode(0);
        smoke_step.dependOn(&smoke.step);
    }
}

fn addDemo(s: Build, step: *std.Build.Step, build_step: *std.Build.Step) void {
    const demo = userProgram(s.b, s.target, s.optimize, s.library, "demo", "examples", &.{"demo.c"});
    demo.root_module.linkSystemLibrary("m", .{});
    const run = script(s, "examples/demo.sh");
    run.addArtifactArg(demo);
    run.addArtifactArg(s.command);
    build_step.dependOn(&demo.step);
    step.dependOn(&run.step);
}

fn addExamples(s: Build, build_step: *std.Build.Step, run_step: *std.Build.Step) void {
    for (examples) |example| {
        const program = userProgram(s.b, s.target, s.optimize, s.library, example.name, "examples", &.{s.b.fmt("{s}.c", .{example.name})});
        build_step.dependOn(&program.step);
        const run = s.b.addRunArtifact(program);
        run.addFileArg(s.b.path(example.source));
        _ = run.addOutputDirectoryArg("cache");
        run.setCwd(s.b.path("."));
        run.has_side_effects = true;
        run.expectExitCode(0);
        run_step.dependOn(&run.step);
    }
}

/// libsodium's and json-c's, without the rest of the machine's.
fn systemHeaders(b: *std.Build) std.Build.LazyPath {
    const copies = b.addWriteFiles();
    const system = std.Build.LazyPath{ .cwd_relative = "/usr/include" };
    _ = copies.addCopyDirectory(system.path(b, "sodium"), "sodium", .{});
    _ = copies.addCopyFile(system.path(b, "sodium.h"), "sodium.h");
    _ = copies.addCopyDirectory(system.path(b, "json-c"), "json-c", .{});
    return copies.getDirectory();
}

/// Objects only: a cross build of the whole needs libsodium and json-c for that machine. Their headers suffice for this.
fn addCheck(s: Build, step: *std.Build.Step, build_tests: *std.Build.Step) void {
    const b = s.b;
    step.dependOn(b.getInstallStep());
    step.dependOn(build_tests);
    const system = systemHeaders(b);
    const targets = [_]std.Target.Query{
        .{ .cpu_arch = .aarch64, .os_tag = .linux, .abi = .gnu },
        .{ .cpu_arch = .x86_64, .os_tag = .linux, .abi = .musl },
        .{ .cpu_arch = .aarch64, .os_tag = .linux, .abi = .musl },
        .{ .cpu_arch = .aarch64, .os_tag = .macos },
    };
    for (targets) |query| {
        const target = b.resolveTargetQuery(query);
        for (rooms) |r| {
            if (r.files.len == 0) continue;
            const m = roomModule(b, r, target, s.optimize);
            m.addIncludePath(system);
            step.dependOn(&b.addObject(.{ .name = r.name, .root_module = m }).step);
        }
    }
}
