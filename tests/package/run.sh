#!/bin/sh
# A Zig project that depends on this one, given what build.zig.zon says belongs to the package and nothing else: it builds and
# runs, and `artifact("slipway")` is the static library with its headers. Needs $ZIG; run in the top of the tree.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/slipway" "$work/user"
sed -n '/\.paths = /,/}/s/^ *"\(.*\)",$/\1/p' build.zig.zon | while read -r path; do cp -r "$path" "$work/slipway/"; done
cp tests/package/user/* "$work/user/"
cd "$work/user"
if "$ZIG" build --prefix "$work/out" >"$work/log" 2>&1 && said=$("$work/out/bin/user") && [ -n "$said" ]; then
    echo "ok a Zig project gets slipway $said as a dependency"
    echo "package: 1 passed, 0 failed"
else
    cat "$work/log"
    echo "FAIL a Zig project gets slipway as a dependency"
    echo "package: 0 passed, 1 failed"
    exit 1
fi
