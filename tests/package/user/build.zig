const std = @import("std");
pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const dep = b.dependency("slipway", .{ .target = target, .optimize = optimize });
    const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true });
    m.addCSourceFile(.{ .file = b.path("main.c") });
    m.linkLibrary(dep.artifact("slipway"));
    m.linkSystemLibrary("libsodium", .{});
    m.linkSystemLibrary("json-c", .{ .use_pkg_config = .no });
    b.installArtifact(b.addExecutable(.{ .name = "user", .root_module = m }));
}
