#!/bin/sh
# Checks and measures a real NVIDIA GPU through the library, in under 5 minutes:
#
#     tests/gpu/run.sh [--program PATH] [--driver-library PATH] [--json PATH] [--quick] [--only NAME] [--may-skip NAME]
#
# The program is zig-out/gpu/gpu_check, which `zig build gpu-check` makes on any x86-64 Linux: it needs nothing on the
# machine with the GPU but a C library and the driver, and nothing is built there. Where it is missing it is built:
# with zig, else with a C compiler, libsodium and json-c; without these this ends with 3.
# The result is written as JSON to --json, else to $OUT/gpu.json, else to zig-out/gpu/gpu.json.
set -u
cd "$(dirname "$0")/../.." || exit 3

program=
json=
rest=
library=
next=
for argument; do
    case $next in
    program) program=$argument next= && continue ;;
    json) json=$argument next= && continue ;;
    library) library=$argument next= && continue ;;
    only | may-skip) rest="$rest --$next $argument" next= && continue ;;
    esac
    case $argument in
    --program) next=program ;;
    --json) next=json ;;
    --driver-library) next=library ;;
    --only | --may-skip) next=${argument#--} ;;
    --quick) rest="$rest --quick" ;;
    *)
        sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    esac
done
if [ -n "$next" ]; then
    echo "gpu: --$next needs a value" >&2
    exit 2
fi

# Before anything is built: is there something to check?
find_driver() {
    [ -n "$library" ] && return 0
    if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
        why="there is no /dev/nvidiactl: no NVIDIA driver runs here"
        return 1
    fi
}
if ! find_driver; then
    echo "SKIP gpu: $why"
    echo "gpu: 0 passed, 0 failed, 1 skipped"
    exit 0
fi

say() { printf 'gpu: %s\n' "$*" >&2; }

build_with_cc() {
    for header in sodium.h json-c/json.h; do
        if ! echo "#include <$header>" | "${CC:-cc}" -fsyntax-only -x c - 2>/dev/null; then
            say "no zig, and no $header: install libsodium-dev and libjson-c-dev, or bring zig-out/gpu/gpu_check"
            exit 3
        fi
    done
    mkdir -p zig-out/gpu
    say "building zig-out/gpu/gpu_check with ${CC:-cc}"
    rooms=$(find src -type d | sed 's/^/-I/')
    # All rooms in one look-up path: names of headers are unique across them.
    # shellcheck disable=SC2046,SC2086
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -O2 -w -Iinclude $rooms \
        $(find src tests/gpu -name '*.c') -o zig-out/gpu/gpu_check -lsodium -ljson-c -lpthread -ldl -lm || exit 3
}

if [ -z "$program" ]; then
    program=zig-out/gpu/gpu_check
    if [ ! -x "$program" ]; then
        zig=${ZIG:-$(command -v zig || echo .zig/ziglang/zig)}
        if "$zig" version >/dev/null 2>&1; then
            say "building $program with zig"
            "$zig" build gpu-check || exit 3
        elif command -v "${CC:-cc}" >/dev/null 2>&1; then
            build_with_cc
        else
            say "there is no $program, no zig and no C compiler: make it with \`zig build gpu-check\` and bring it here"
            exit 3
        fi
    fi
fi

if [ -z "$json" ]; then
    json=${OUT:-zig-out/gpu}/gpu.json
    mkdir -p "$(dirname "$json")" || exit 3
fi
if [ -n "$library" ]; then set -- --driver-library "$library"; else set --; fi
# shellcheck disable=SC2086
exec "$program" --kernels tests/gpu/kernels --json "$json" "$@" $rest
