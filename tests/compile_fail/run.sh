#!/bin/sh
# The programs that must not compile, their good twins, and the public headers alone.
#
#   tests/compile_fail/run.sh [CC...]
#
# Each CC is a command ("zig cc" too); without any: gcc, clang, clang-16, $ZIG cc.
#
# A file of tests/compile_fail begins with
#   /* expect: gcc=REJECT clang=REJECT
#    * gcc-pattern: extended regular expression that the diagnostics must hold
#    * clang-pattern: likewise
# ACCEPT says that this family cannot see the misuse, and that the file is sound C otherwise.
# The last line is "compile_fail: N passed, N failed, N skipped"; the exit status is 1 when anything failed or nothing
# ran.
set -u
LC_ALL=C
export LC_ALL

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/slipway-compile-fail.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

ok() { echo "ok $1 ($2)"; }
fail() { echo "FAIL $1 ($2): $3"; }
skip() { echo "SKIP $1: $2"; }

# family CC: gcc, clang, or nothing when it is neither or does not run.
family() {
    case $($1 --version 2>/dev/null) in
    *clang*) echo clang ;;
    *"Free Software Foundation"*) echo gcc ;;
    esac
}

strict="-c -pedantic-errors -Wall -Wextra -Werror"
# The flags under which a family refuses what it can.
flags_of() {
    case $1 in
    clang) echo "$strict -DSLW_CHECK_PHASES -Wthread-safety" ;;
    *) echo "$strict" ;;
    esac
}

# compile CC FAMILY FILE [LANGUAGE STANDARD]: the diagnostics are in $work/said.
compile() {
    # shellcheck disable=SC2046,SC2086
    $1 -x "${4:-c}" "-std=${5:-c11}" $(flags_of "$2") -I"$root/include" -o "$work/out.o" "$3" >"$work/said" 2>&1
}

# header FILE NAME: what the file's first lines say of NAME ("gcc", "clang-pattern").
header() {
    case $2 in
    *-pattern) sed -n "1,4s/^ \* $2: //p" "$1" ;;
    *) sed -n "1s/.*[ :]$2=\([A-Z]*\).*/\1/p" "$1" ;;
    esac
}

# judge CC FAMILY FILE: prints why the file is not treated as its header says; prints nothing when it is.
judge() {
    expected=$(header "$3" "$2")
    pattern=$(header "$3" "$2-pattern")
    if compile "$1" "$2" "$3"; then
        [ "$expected" = REJECT ] && echo "it compiled, and must not"
        [ "$expected" != REJECT ] && [ "$expected" != ACCEPT ] && echo "its first line expects nothing of $2"
        return 0
    fi
    case $expected in
    ACCEPT) echo "it must compile: $(head -n 1 "$work/said")" ;;
    REJECT)
        [ -n "$pattern" ] && [ "$pattern" != - ] || echo "no $2-pattern stands in its header"
        grep -Eq -e "$pattern" "$work/said" || echo "refused for another reason: $(head -n 1 "$work/said")"
        ;;
    *) echo "its first line expects nothing of $2" ;;
    esac
}

# A sound file that is said to be refused, and a refused one with the wrong reason: both must be reported.
control() {
    cat >"$work/sound.c" <<'SOUND'
/* expect: gcc=REJECT clang=REJECT
 * gcc-pattern: association
 * clang-pattern: association */
#include <slipway/slipway.h>
void sound(slw_cached *cached);
void sound(slw_cached *cached) { slw_cached *copy = cached; (void)copy; }
SOUND
    sed -e 's/pattern: .*/pattern: a reason that no compiler gives/' "$root/tests/compile_fail/discard_type.c" \
        >"$work/reason.c"
    for control in sound reason; do
        if [ -n "$(judge "$1" "$2" "$work/$control.c")" ]; then ok "control:$control" "$1"; else
            fail "control:$control" "$1" "the runner did not report a file that it must report"
        fi
    done
}

# must_compile NAME CC FAMILY FILE LANGUAGE STANDARD
must_compile() {
    if compile "$2" "$3" "$4" "$5" "$6"; then ok "$1:$6" "$2"; else
        fail "$1:$6" "$2" "$(head -n 3 "$work/said" | tr '\n' ' ')"
    fi
}

# Can this compiler do C++ at all? gcc without g++ cannot.
has_cxx() {
    printf 'int main() { return 0; }\n' >"$work/cxx.cc"
    $1 -x c++ -std=c++17 -c -o "$work/cxx.o" "$work/cxx.cc" >/dev/null 2>&1
}

both_languages() {
    must_compile "$1" "$2" "$3" "$4" c c11
    [ "$cxx" = 1 ] && must_compile "$1" "$2" "$3" "$4" c++ c++17
}

run_compiler() {
    control "$1" "$2"
    for file in "$root"/tests/compile_fail/*.c; do
        name=$(basename "$file" .c)
        why=$(judge "$1" "$2" "$file")
        if [ -z "$why" ]; then ok "$name" "$1"; else fail "$name" "$1" "$why"; fi
    done
    cxx=1
    has_cxx "$1" || cxx=0
    [ "$cxx" = 1 ] || skip "c++17 ($1)" "this compiler has no C++"
    for file in "$root"/tests/compile_ok/*.c; do
        both_languages "good:$(basename "$file" .c)" "$1" "$2" "$file"
    done
    (cd "$root/include" && find slipway -name '*.h' | sort) >"$work/headers"
    while read -r name; do
        printf '#include <%s>\ntypedef int slipway_nothing_else;\n' "$name" >"$work/alone.c"
        both_languages "alone:$name" "$1" "$2" "$work/alone.c"
    done <"$work/headers"
}

# One compiler in a directory of its own, so that they can run side by side.
try_compiler() {
    kind=$(family "$1")
    work="$work/$2"
    mkdir "$work" || return
    if [ -z "$kind" ]; then skip "$1" "not here, or neither gcc nor clang"; else run_compiler "$1" "$kind"; fi
}

[ $# -gt 0 ] || set -- gcc clang clang-16 "${ZIG:-zig} cc"
number=0
for cc in "$@"; do
    number=$((number + 1))
    (try_compiler "$cc" "cc$number") >"$work/$number.log" 2>&1 &
done
wait
cat "$work"/*.log

count() { cat "$work"/*.log | grep -c "^$1 "; }
passed=$(count ok)
failed=$(count FAIL)
skipped=$(count SKIP)
echo "compile_fail: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
