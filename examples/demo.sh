#!/bin/sh
# The demo: six kernels cold, then hot; then once more where no compiler can be found. Arguments: the demo program, the command.
set -eu
demo=$1
slipway=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 700 "$work"
matrix=$(ls examples/kernels/data/*.mtx | head -1)

# Counts the processes that a command starts, itself not counted; "?" where ptrace is not allowed.
count_starts() {
    out=$1
    shift
    if strace -f -qq -e trace=execve,execveat -o "$work/trace" "$@" >"$out"; then
        echo $(($(grep -c 'execve.* = 0$' "$work/trace") - 1))
    else
        return 1
    fi
}

say() { printf '\n== %s\n' "$*"; }

can_trace=yes
strace -qq -o /dev/null true 2>/dev/null || can_trace=no

say "cold: nothing cached, the toolchain is proved by reading it"
"$demo" "$work/all" "$matrix" examples/kernels | tee "$work/cold"

say "hot: a fresh process, the same six kernels"
"$demo" "$work/all" "$matrix" examples/kernels | tee "$work/hot"
[ "$(grep -c ' HIT ' "$work/hot")" = 6 ] || { echo "demo: not six hits"; exit 1; }

say "the difference (ms)"
awk 'NR == FNR { if ($2 == "PUBLISHED") cold[$1] = $3; next }
     $2 == "HIT" { printf "%-10s compiled and published %10.3f   verified hit %8.3f   %7.1f times\n", $1, cold[$1], $3, cold[$1] / $3 }' \
    "$work/cold" "$work/hot"

# The compiler is named, so it is found without PATH.
say "hot, with PATH=/nonexistent"
cc=$(command -v cc)
run() { # run PATH: the command, whole way
    env PATH="$1" SLIPWAY_CC="$cc" "$slipway" run examples/kernels/saxpy.c --cache "$work/run/cache" --private "$work/run/private" \
        --memo "$work/run/memo" --grid 4 --block 256 --arg u64=1000 --arg f32=2 --arg 'f32[1000]=iota' --arg 'inout:f32[1000]=const:1'
}
run "$PATH"
run /nonexistent | tee "$work/nonexistent"
grep -q '^HIT ' "$work/nonexistent" || { echo "demo: no hit with PATH=/nonexistent"; exit 1; }

if [ $can_trace = yes ]; then
    say "processes started (execve, the program itself not counted)"
    cold=$(count_starts "$work/out" "$demo" "$work/traced" "$matrix" examples/kernels)
    hot=$(count_starts "$work/out" "$demo" "$work/traced" "$matrix" examples/kernels)
    echo "cold: $cold   hot: $hot"
    [ "$hot" = 0 ] || { echo "demo: a hot run started a process"; exit 1; }
else
    echo "processes started: not counted, ptrace is not allowed here (the test suite counts them in the library)"
fi
