#!/bin/sh
# How many lines of the readers the corpus and the fixtures reach: coverage.sh, in the top of the tree, after `zig build coverage`
# (which builds the targets with clang's instrumentation and calls this). One row a file and the sum; LINES=1 lists what was not
# reached, too. Needs llvm-profdata and llvm-cov of the same clang (LLVM_BIN; Debian's package llvm-16).
set -eu
programs=${PROGRAMS:-zig-out/coverage}
llvm=${LLVM_BIN:-/usr/lib/llvm-16/bin}
fixtures=tests/fixtures
if [ ! -x "$llvm/llvm-cov" ]; then
    echo "SKIP coverage: there is no $llvm/llvm-cov (package llvm-16)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# TARGET FILES…: those whose bytes reach a reader.
reach() {
    target=$1
    shift
    LLVM_PROFILE_FILE="$work/$target.profraw" nice "$programs/$target" "fuzz/corpus/$target" "$@" >"$work/log" 2>&1 ||
        { tail -n 3 "$work/log"; exit 1; }
}
reach fuzz_ptx $fixtures/ptx $fixtures/ptx-cases
reach fuzz_cubin $fixtures/cubin
reach fuzz_fatbin $fixtures/fatbin
reach fuzz_amdgcn $fixtures/hsaco
reach fuzz_bundle $fixtures/hsaco
reach fuzz_host_binary
reach fuzz_contract_json
reach fuzz_triton_metadata
reach fuzz_inspect $fixtures/cubin $fixtures/fatbin $fixtures/hsaco $fixtures/ptx
reach fuzz_same_kernel
"$llvm/llvm-profdata" merge -o "$work/all.profdata" "$work"/*.profraw

# Every program holds the whole library, so that one of them is enough to name its lines.
readers=$(find src/backend -name '*.c' | grep -v -e /host/host_backend -e /host/host_[adijls] -e /host/host_kernel_text -e /host/host_native \
    -e /host/host_options -e /host/host_toolchain -e /host/host_words -e /disassemble -e backends.c -e _backend.c | sort)
readers="$readers src/backend/host/host_dynamic.c src/key/target_cuda.c src/key/target_hip.c"
objects=""
for target in fuzz_cubin fuzz_fatbin fuzz_amdgcn fuzz_bundle fuzz_inspect fuzz_triton_metadata fuzz_ptx; do
    objects="$objects -object $programs/$target"
done
# shellcheck disable=SC2086
"$llvm/llvm-cov" export -format=lcov -instr-profile="$work/all.profdata" "$programs/fuzz_contract_json" $objects $readers >"$work/lcov"
awk -v lines="${LINES:-0}" '
    /^SF:/ { file = $0; sub(/^SF:/, "", file); sub(/^.*\/src\//, "src/", file); missed = "" }
    /^DA:/ { split(substr($0, 4), a, ","); all[file]++; if (a[2] > 0) hit[file]++; else missed = missed " " a[1] }
    /^end_of_record/ {
        printf "%-44s %5d of %5d  %5.1f %%\n", file, hit[file], all[file], 100 * hit[file] / all[file]
        if (lines != 0 && missed != "") print "    not reached:" missed
        total += all[file]; reached += hit[file]
    }
    END { printf "%-44s %5d of %5d  %5.1f %%\n", "all", reached, total, 100 * reached / total }' "$work/lcov"
