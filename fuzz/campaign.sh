#!/bin/sh
# A campaign of AFL++: campaign.sh [SECONDS [TARGET…]], in the top of the tree. Builds the targets (`zig build fuzz-afl-build`) unless
# PROGRAMS says where they are, runs each for SECONDS (60), PARALLEL of them at a time (2), and prints a table that docs/fuzzing.md
# can take. What is new after minimising goes into fuzz/corpus/TARGET under its digest: files of at most KEEP_BYTES (6144), the
# smallest KEEP_FILES (24) of a target; KEEP_FILES=0 keeps none. Crashes and hangs stay in WORK and are told: the step ends with 1.
# AFL++ comes from the package afl++; machines of CI have none, and need none.
set -eu
seconds=${1:-60}
[ $# -gt 0 ] && shift
work=${WORK:-$(mktemp -d)}
parallel=${PARALLEL:-2}

command -v afl-fuzz >/dev/null 2>&1 || {
    echo "SKIP fuzz-afl: there is no afl-fuzz (package afl++)"
    exit 0
}
if [ -z "${PROGRAMS:-}" ]; then
    PROGRAMS=zig-out/afl
    "${ZIG:-zig}" build fuzz-afl-build
fi
[ $# -gt 0 ] || set -- $(cd "$PROGRAMS" && echo fuzz_*)
mkdir -p "$work"
export PROGRAMS seconds work
export KEEP_FILES="${KEEP_FILES:-24}" KEEP_BYTES="${KEEP_BYTES:-6144}"
export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1 AFL_IGNORE_SEED_PROBLEMS=1
export AFL_ALLOW_TMP=1 AFL_FORKSRV_INIT_TMOUT=60000
export ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=abort_on_error=1:symbolize=0

cat >"$work/one.sh" <<'END'
# TARGET
target=$1
here=$work/$target
fixtures=tests/fixtures
rm -rf "$here"
mkdir -p "$here/seeds"

# Which fixtures are seeds too, and the dictionary.
dict="" folders=""
case $target in
fuzz_cubin | fuzz_same_kernel) dict=cubin folders=$fixtures/cubin ;;
fuzz_fatbin) dict=fatbin folders=$fixtures/fatbin ;;
fuzz_amdgcn | fuzz_bundle) dict=amdgcn folders=$fixtures/hsaco ;;
fuzz_inspect) dict=cubin folders="$fixtures/cubin $fixtures/fatbin $fixtures/hsaco $fixtures/ptx" ;;
fuzz_triton_metadata) dict=triton ;;
fuzz_ptx) dict=ptx folders="$fixtures/ptx $fixtures/ptx-cases" ;;
fuzz_host_binary | fuzz_elf_closure) dict=elf ;;
fuzz_depfile) dict=make ;;
fuzz_json | fuzz_record | fuzz_request | fuzz_contract_json | fuzz_manifest) dict=json ;;
esac
[ "$target" = fuzz_same_kernel ] && dict="" folders=""

# Seeds under their digests, so that one that is there twice is one; large ones only slow the fuzzer down.
collect() {
    find "$@" -type f -size -40k 2>/dev/null | while read -r file; do
        cp "$file" "$here/seeds/$(sha256sum "$file" | cut -c1-16)"
    done
}
collect "fuzz/corpus/$target" $folders
[ -n "$(ls "$here/seeds")" ] || echo x >"$here/seeds/x"
set -- -m none -t 5000+
[ -n "$dict" ] && set -- "$@" -x "fuzz/dict/$dict.dict"
nice -n 10 afl-fuzz "$@" -V "$seconds" -i "$here/seeds" -o "$here/out" -- "$PROGRAMS/$target" >"$here/log" 2>&1 || {
    echo "$target: afl-fuzz ended with $?: $(tail -n 5 "$here/log")"
    : >"$work/failed"
    exit 0
}
stats=$here/out/default/fuzzer_stats
value() { sed -n "s/^$1 *: *//p" "$stats"; }
printf '| %s | %s | %s | %s | %s of %s | %s | %s | %s |\n' "$target" "$(value run_time)" "$(value execs_done)" "$(value corpus_count)" \
    "$(value edges_found)" "$(value total_edges)" "$(value bitmap_cvg)" "$(value saved_crashes)" "$(value saved_hangs)" >"$here/row"
cat "$here/row"
if [ "$(value saved_crashes)$(value saved_hangs)" != 00 ]; then
    echo "$target: see $here/out/default/crashes and hangs"
    : >"$work/failed"
fi
[ "$KEEP_FILES" = 0 ] && exit 0

# The fewest of seeds and queue that reach all edges; of those the small ones that the corpus has not got.
if ! nice -n 10 afl-cmin -m none -t 5000 -i "$here/out/default/queue" -o "$here/fewest" -- "$PROGRAMS/$target" >"$here/cmin.log" 2>&1; then
    echo "$target: afl-cmin: $(tail -n 2 "$here/cmin.log")"
    exit 0
fi
mkdir -p "$here/small"
cuts=0
find "$here/fewest" -type f -size +0 | while read -r file; do echo "$(wc -c <"$file") $file"; done | sort -n |
    while read -r size file; do
        [ -e "$here/seeds/$(sha256sum "$file" | cut -c1-16)" ] && continue
        [ "$(ls "$here/small" | wc -l)" -ge "$KEEP_FILES" ] && break
        if [ "$size" -gt "$KEEP_BYTES" ]; then # too large to keep as it is; a few are tried
            cuts=$((cuts + 1))
            [ "$cuts" -gt 6 ] && break
            timeout 20 nice -n 10 afl-tmin -m none -t 5000 -i "$file" -o "$here/tmin" -- "$PROGRAMS/$target" >/dev/null 2>&1 || continue
            file=$here/tmin
            [ "$(wc -c <"$file")" -le "$KEEP_BYTES" ] || continue
        fi
        cp "$file" "$here/small/$(sha256sum "$file" | cut -c1-16)"
    done
for file in "$here"/small/*; do
    [ -e "$file" ] || continue
    mkdir -p "fuzz/corpus/$target"
    [ -e "$here/seeds/$(basename "$file")" ] || cp "$file" "fuzz/corpus/$target/$(basename "$file")"
done
END
echo "| target | seconds | executions | inputs kept | edges | map | crashes | hangs |"
echo "|---|---|---|---|---|---|---|---|"
printf '%s\n' "$@" | xargs -P "$parallel" -n 1 sh "$work/one.sh"
echo "work: $work"
if [ -e "$work/failed" ]; then exit 1; fi
