#!/bin/sh
# House rules that include paths cannot see. Arguments: the shared library and the static one. One line a rule; prints
# "ok"/"FAIL", what offends, and a closing line that ./dev test adds up.
set -u
shared=$1
static=$2
passed=0
failed=0
skipped=0

# rule NAME OFFENDERS: passes when there are none.
rule() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        printf 'ok %s\n' "$1"
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n%s\n' "$1" "$2" | head -20
    fi
}

sources() { find "$@" -name '*.[ch]' | sort; }

# Code without comments and strings would be better; patterns are chosen so that comments do not match.
offend() { # offend PATTERN FILES…
    pattern=$1
    shift
    grep -nE "$pattern" "$@" /dev/null | grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)' || true
}

rule 'includes name a file, never a path into a room' \
    "$(offend '#include "[^"]*/' $(sources src cli))"
for room in store backend device; do
    others=$(for other in store backend device lifecycle; do [ $other = $room ] || find src/$other -name '*.h' -exec basename {} \;; done | sort -u | paste -sd'|' | sed 's/\./\\./g')
    rule "$room includes nothing of the other owners" "$(offend "#include \"($others)\"" $(sources src/$room))"
done
rule 'base includes only base' \
    "$(offend "#include \"($(find src/key src/store src/backend src/device src/lifecycle -name '*.h' -exec basename {} \; | sort -u | paste -sd'|' | sed 's/\./\\./g'))\"" $(sources src/base))"
rule 'header names are unique across rooms' \
    "$(find src -name '*.h' -exec basename {} \; | sort | uniq -d)"
rule 'the command uses public headers only' "$(offend '#include "[^"]*"' $(sources cli) | grep -vE "\"($(ls cli | grep '\.h$' | paste -sd'|' | sed 's/\./\\./g'))\"" || true)"
rule 'only base/platform calls the operating system' \
    "$(offend '(^|[^a-z_>.])(open|openat|creat|read|write|pread|pwrite|rename|renameat2?|unlink|unlinkat|rmdir|mkdir|mkdirat|flock|mmap|munmap|mprotect|fork|vfork|execv[pe]*|posix_spawnp?|waitpid|kill|dlopen|dlsym|dlclose|fsync|fstat|stat|lstat|opendir|readdir|socket|pipe2?|fcntl|syscall|sysconf|getpid|geteuid|clock_gettime|nanosleep)\(' $(sources src | grep -v '^src/base/platform/') | grep -vE '(os->|\(\*|#define)' || true)"
rule 'the environment is read by the command only, and set by nobody' \
    "$(offend '(^|[^A-Za-z0-9_])((secure_)?getenv|setenv|putenv|unsetenv|clearenv)[[:space:]]*\(|(^|[^a-z_])environ[^a-z_m]' $(sources src)
    offend '(^|[^A-Za-z0-9_])(setenv|putenv|unsetenv|clearenv)[[:space:]]*\(' $(sources cli))"
rule 'no code runs before main, at exit or at the end of a thread' \
    "$(offend '(^|[^A-Za-z0-9_])(atexit|at_quick_exit|on_exit|__cxa_(thread_)?atexit(_impl)?|pthread_key_create|tss_create)[[:space:]]*\(|__attribute__\(\(.*(con|de)structor|\.(init|fini)_array' $(sources src))"
rule 'only base/platform closes a library, and no vendor'"'"'s is ever closed' \
    "$(offend '(^|[^A-Za-z0-9_])dlclose[[:space:]]*\(' $(sources src cli | grep -v '^src/base/platform/')
    offend 'dl_close' $(sources src/device/gpu src/device/cuda src/device/hip))"
rule 'no printing, exiting or signals in the library' \
    "$(offend '(^|[^a-z_])(printf|fprintf|puts|perror|exit|_exit|abort|signal|sigaction)\(' $(sources src | grep -v '^src/base/platform/'))"
rule 'libsodium only in key' "$(offend '#include <sodium' $(sources src cli | grep -v '^src/key/'))"
rule 'json-c only in base/json' "$(offend '#include <json' $(sources src | grep -v '^src/base/json'))"
rule 'no raw malloc outside base' "$(offend '(^|[^a-z_])(malloc|calloc|realloc|strdup|strndup|free)\(' $(sources src | grep -vE '^src/base/(memory|platform/|json)') | grep -vE '(driver|vtable)->free|^src/device/host/host_driver.c:' || true)" # host device memory is the C library's
rule 'no unbounded string calls' "$(offend '(^|[^a-z_])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|strncpy)\(' $(sources src cli))"
rule 'no unfinished marks' "$(grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' src include cli build.zig examples || true)"
rule 'files have at most 700 lines' "$(sources src cli | xargs wc -l | awk '$2 != "total" && $1 > 700 && $2 !~ /_text\.c$/')"
rule 'functions have at most 80 lines' "$(for f in $(find src cli -name '*.c'); do
    awk -v f="$f" '/^[a-zA-Z_].*\)[ \t]*\{[ \t]*$/ {n = NR; h = $0} /^\}/ {if (n && NR - n > 80) printf "%s:%d %d lines %s\n", f, n, NR - n, h; n = 0}' "$f"
done)"
rule 'lines have at most 120 columns' "$(sources src cli include | grep -v '_text\.c$' | while read -r f; do sed 's/[^ -~]//g' "$f" | awk -v f="$f" 'length($0) > 120 {print f ":" FNR ": " length($0) " columns"}'; done)" # what is not ASCII takes a column or none
rule 'no path of a machine, no registry' "$(git grep -nIE '((^|[^A-Za-z0-9._])/(work|farm|root)/|/home/[a-z]|registry\.npmjs|pypi\.org|files\.pythonhosted|deb\.debian\.org)' -- . ':!tests/fixtures' ':!tests/tidy/run.sh' 2>/dev/null || true)"
rule 'every source is in its list' "$(for room in base key store backend device lifecycle; do
    (cd src/$room && find . -name '*.c' | sed 's,^\./,,' | while read -r f; do grep -q "\"$f\"" files.zig || echo "src/$room/$f"; done)
done)"
rule 'every test program is in its list' "$(for list in $(find tests -name files.zig ! -path 'tests/support/*'); do
    (cd "$(dirname "$list")" && ls test_*.c 2>/dev/null | sed 's/\.c$//' | while read -r t; do grep -q "\"$t\"" files.zig || echo "$(dirname "$list")/$t"; done)
done)"
rule 'documents name files that exist' "$(grep -noE '\b(src|tests|include|docs|examples|bench|fuzz|cli|tools)/[A-Za-z0-9_./-]+\.(c|h|md|sh|json|zig|txt)\b' README.md docs/*.md docs/decisions/*.md examples/kernels/README.md | while IFS=: read -r file line path; do
    [ -e "$path" ] || echo "$file:$line: $path"
done)"
rule 'the README shows examples/embed.c' "$(sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' | diff - examples/embed.c || true)"
header=$(sed -n 's/^#define SLW_VERSION_TEXT *"\(.*\)"/\1/p' include/slipway/version.h)
rule 'one version' "$(grep -q "\.version = \"$header\"" build.zig.zon || echo "build.zig.zon is not $header")"
number=$(sed -n '/"slipway", .linkage/s/.*\.major = \([0-9]*\), \.minor = \([0-9]*\), \.patch = \([0-9]*\).*/\1.\2.\3/p' build.zig)
rule 'the shared library has that version' "$([ "$number" = "$header" ] || echo "build.zig says '$number', version.h '$header'")"
rule 'exported names are slw_, and those of the list' "$(nm -D --defined-only "$shared" | awk '{print $3}' | sed 's/@.*//' | sort | diff - tests/tidy/symbols.txt 2>&1 || true)"
rule 'what the static library cannot hide is slwi_' "$(nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 {print $3}' | grep -vE '^slwi?_' || true)"
soname=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
rule 'soname' "$([ "$soname" = libslipway.so.0 ] || echo "soname is '$soname'")"
program=$(mktemp -d)
printf '#include <slipway/slipway.h>\nint main(void) { slw_digest d; slw_sha256((slw_bytes){"", 0}, &d); return d.bytes[0] == 0xe3 && slw_version()[0] ? 0 : 1; }\n' >"$program/t.c"
rule 'the static library links with gcc, and runs' "$(gcc -std=c11 -Iinclude -o "$program/t" "$program/t.c" "$static" -lsodium -ljson-c -lpthread -ldl -lm 2>&1 && "$program/t" || echo "status $?")"
rm -rf "$program"

printf 'house: %d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed = 0 ]
