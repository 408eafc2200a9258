#!/bin/sh
# Mutations of the fixtures, under ASan and UBSan: mutate.sh [COUNT [READER…]], in the top of the tree, after `zig build mutate`
# (which builds and calls this). A reader is one of those in the table below; none: all. PARALLEL of them run at a time (2); SEED
# gives other mutations (1); ONCE=1 leaves out the second run of each with a failing allocation. One line a reader; ends with 1
# when one found something: then its last line says which mutation, and `PROGRAMS/TARGET COUNT --only I FILES…` repeats it.
set -eu
count=${1:-20000}
[ $# -gt 0 ] && shift
programs=${PROGRAMS:-zig-out/mutate}
parallel=${PARALLEL:-2}
seed=${SEED:-1}
f=tests/fixtures
c=fuzz/corpus

# READER TARGET FILES…
table() {
    cat <<END
ptx fuzz_ptx --accepted $f/ptx $f/ptx-cases
cubin fuzz_cubin $f/cubin
fatbin fuzz_fatbin $f/fatbin
amdgcn fuzz_amdgcn $f/hsaco/*.hsaco
bundle fuzz_bundle $f/hsaco/*.bundle $f/hsaco/*.hipfb
host fuzz_host_binary --accepted $c/fuzz_host_binary
triton fuzz_triton_metadata --accepted $c/fuzz_triton_metadata
contract fuzz_contract_json --accepted $c/fuzz_contract_json
inspect fuzz_inspect $f/cubin $f/fatbin $f/hsaco $f/ptx
same fuzz_same_kernel $c/fuzz_same_kernel
END
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/one.sh" <<'END'
# WORK PROGRAMS COUNT SEED READER TARGET FILES…
work=$1 programs=$2 count=$3 seed=$4 reader=$5 target=$6
shift 6
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:malloc_context_size=2:quarantine_size_mb=16
if nice -n 10 "$programs/$target" "$count" --seed "$seed" ${ONCE:+--once} "$@" >"$work/$reader.out" 2>"$work/$reader.err"; then
    echo "$reader: $(tail -n 1 "$work/$reader.out")"
else
    echo "$reader: FOUND by $programs/$target $count --seed $seed $*"
    tail -n 40 "$work/$reader.err" | sed "s/^/    /"
    : >"$work/failed"
fi
END
wanted=" $* "
table | while read -r reader target files; do
    [ "$wanted" = "  " ] || case $wanted in *" $reader "*) ;; *) continue ;; esac
    # Unquoted on purpose: the patterns are to be expanded.
    # shellcheck disable=SC2086
    echo "$reader $target" $files
done >"$work/list"
xargs -P "$parallel" -L 1 sh "$work/one.sh" "$work" "$programs" "$count" "$seed" <"$work/list"
if [ -e "$work/failed" ]; then exit 1; fi
