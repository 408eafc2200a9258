#!/bin/sh
# Compares our PTX scanner with ptxas: run.sh PROGRAM [COUNT [SEED]]. PROGRAM is ptx_diff, built. Started in the top of the
# tree. Where there is no ptxas (on PATH, or named by PTXAS) nothing is compared, which is said. What differs is kept in
# the folder that is printed: make each a case of tests/unit/backend/test_ptx_errors.c.
set -eu
program=$1
count=${2:-400}
seed=${3:-1}
ptxas=${PTXAS:-ptxas}
if ! command -v "$ptxas" >/dev/null 2>&1; then
    echo "SKIP ptx-diff: there is no ptxas"
    exit 0
fi
folder=$(mktemp -d)
"$program" make "$folder" "$count" "$seed" tests/fixtures/ptx-cases/*.ptx tests/fixtures/ptx/rq_90.ptx \
    tests/fixtures/ptx/k9_90.ptx tests/fixtures/ptx/al_80.ptx

# One ptxas a module, several at a time. A crash or a time-out of ptxas counts as its refusal.
cat >"$folder/one.sh" <<'EOF'
rc=0
timeout 20 "$1" -arch=sm_90 -O0 -v -o "$2.cubin" "$2.ptx" >"$2.log" 2>&1 || rc=$?
echo "$rc" >"$2.rc"
rm -f "$2.cubin"
EOF
n=0
while [ "$n" -lt "$count" ]; do
    echo "$folder/$n"
    n=$((n + 1))
done | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh "$folder/one.sh" "$ptxas"

if "$program" check "$folder" "$count"; then
    rm -rf "$folder"
else
    echo "kept: $folder"
    exit 1
fi
