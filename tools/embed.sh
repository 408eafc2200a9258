#!/bin/sh
# Writes src/backend/host/host_kernel_text.c from include/slipway/host_kernel.h. Run it after the header changed; a unit test
# (tests/unit/backend/test_host_header.c) fails when it was forgotten.
set -eu
cd "$(dirname "$0")/.."
out=src/backend/host/host_kernel_text.c
{
    cat <<'HEAD'
/* include/slipway/host_kernel.h, line by line, so that the library can hand it to the compiler wherever it is installed.
 * Made by tools/embed.sh; a unit test compares it with the header byte for byte. */
#include "host_kernel_text.h"

#include <stddef.h>

const char *const slwi_host_kernel_lines[] = {
HEAD
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n",/' include/slipway/host_kernel.h
    printf '    NULL,\n};\n'
} >"$out.new"
mv "$out.new" "$out"
