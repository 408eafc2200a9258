//! What the headers of this tree say, for each C source that includes them.
//!
//! Of several sources in one compilation Zig (0.16 and 0.17) forgets the headers of those it found compiled when another was not. When
//! such a header changes afterwards nothing is compiled, and half of a library knows another struct than the other half. So every source
//! is given a digest of its headers as a flag: they change, it is compiled.
const std = @import("std");

const Headers = @This();

/// Only the name counts in an include, not the folder: where two headers have one name, either's change is taken for both.
const Header = struct { digest: u64, includes: []const []const u8 };

b: *std.Build,
root: std.Io.Dir,
by_name: std.StringHashMap(std.ArrayList(Header)),
digests: std.StringHashMap(u64), // of the sources asked for so far

pub fn init(b: *std.Build, folders: []const []const u8) Headers {
    // Zig 0.17 runs build.zig again only when told to; what this reads it cannot know.
    if (@hasDecl(@TypeOf(b.graph.*), "poisonCache")) b.graph.poisonCache();
    const root = if (@hasField(std.Build, "root")) b.root.root_dir.handle else b.build_root.handle;
    var headers = Headers{ .b = b, .root = root, .by_name = .init(b.allocator), .digests = .init(b.allocator) };
    for (folders) |folder| headers.gather(folder) catch |err| std.debug.panic("{s}: {t}", .{ folder, err });
    return headers;
}

fn gather(headers: *Headers, folder: []const u8) !void {
    const b = headers.b;
    var dir = try headers.root.openDir(b.graph.io, folder, .{ .iterate = true });
    defer dir.close(b.graph.io);
    var walker = try dir.walk(b.allocator);
    defer walker.deinit();
    while (try walker.next(b.graph.io)) |entry| {
        if (!std.mem.endsWith(u8, entry.basename, ".h")) continue;
        const text = try dir.readFileAlloc(b.graph.io, entry.path, b.allocator, .unlimited);
        const slot = try headers.by_name.getOrPutValue(b.dupe(entry.basename), .empty);
        try slot.value_ptr.append(b.allocator, .{ .digest = std.hash.Wyhash.hash(std.hash.Wyhash.hash(0, entry.path), text), .includes = try includesOf(b, text) });
    }
}

fn includesOf(b: *std.Build, text: []const u8) ![]const []const u8 {
    var names: std.ArrayList([]const u8) = .empty;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        var words = std.mem.tokenizeAny(u8, line, "# \t\"<>");
        if (!std.mem.startsWith(u8, std.mem.trimStart(u8, line, " \t"), "#")) continue;
        if (!std.mem.eql(u8, words.next() orelse continue, "include")) continue;
        try names.append(b.allocator, std.fs.path.basename(words.next() orelse continue));
    }
    return names.items;
}

/// `flags`, and the digest of all headers of this tree that the source includes, directly or not.
pub fn with(headers: *Headers, source: []const u8, flags: []const []const u8) []const []const u8 {
    const known = headers.digests.getOrPut(source) catch @panic("OOM");
    if (!known.found_existing) known.value_ptr.* = headers.digestOf(source) catch |err| std.debug.panic("{s}: {t}", .{ source, err });
    const more = [_][]const u8{headers.b.fmt("-DSLW_BUILD_HEADERS=0x{x}", .{known.value_ptr.*})};
    return std.mem.concat(headers.b.allocator, []const u8, &.{ flags, &more }) catch @panic("OOM");
}

fn digestOf(headers: *Headers, source: []const u8) !u64 {
    const b = headers.b;
    const text = try headers.root.readFileAlloc(b.graph.io, source, b.allocator, .unlimited);
    var seen: std.StringHashMap(void) = .init(b.allocator);
    var left: std.ArrayList([]const u8) = .empty;
    try left.appendSlice(b.allocator, try includesOf(b, text));
    var digest: u64 = 0;
    while (left.pop()) |name| {
        if ((try seen.getOrPut(name)).found_existing) continue;
        const found = headers.by_name.get(name) orelse continue; // the system's
        for (found.items) |header| {
            digest +%= header.digest; // in any order
            try left.appendSlice(b.allocator, header.includes);
        }
    }
    return digest;
}
