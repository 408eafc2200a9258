#include "host_target.h"

#include <stdlib.h> /* any header of the C library: it says whether it is glibc */
#include <string.h>

#if defined(__x86_64__)
#define MACHINE        "x86_64"
#define MACHINE_NUMBER 62u /* EM_X86_64 */
#elif defined(__aarch64__)
#define MACHINE        "aarch64"
#define MACHINE_NUMBER 183u /* EM_AARCH64 */
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE        "riscv64"
#define MACHINE_NUMBER 243u /* EM_RISCV */
#else
#define MACHINE        "unknown"
#define MACHINE_NUMBER 0u
#endif

#if defined(__APPLE__)
#define SYSTEM  "macos"
#define IS_MUSL 0
#elif !defined(__linux__)
#define SYSTEM  "unknown"
#define IS_MUSL 0
#elif defined(__GLIBC__)
#define SYSTEM  "linux-gnu"
#define IS_MUSL 0
#else
#define SYSTEM  "linux-musl"
#define IS_MUSL 1
#endif

const char *slwi_host_target(void) {
    return MACHINE "-" SYSTEM;
}

uint16_t slwi_host_machine(void) {
    return MACHINE_NUMBER;
}

int slwi_host_is_musl(void) {
    return IS_MUSL;
}

static int ends_with(const char *text, const char *end) {
    size_t size = strlen(text);
    size_t tail = strlen(end);
    return size > tail && strcmp(text + size - tail, end) == 0 && text[size - tail - 1] == '-';
}

/* The vendor in the middle ("pc", "alpine", "unknown") means nothing; "linux-gnu" must be the end. Two families of
   distributions leave the C library out when it is glibc: x86_64-redhat-linux, x86_64-suse-linux. */
int slwi_host_triple_fits(const char *triple) {
    size_t machine = strlen(MACHINE);
    if (strncmp(triple, MACHINE "-", machine + 1) != 0) return 0;
    if (ends_with(triple, SYSTEM)) return 1;
    return strcmp(SYSTEM, "linux-gnu") == 0 && ends_with(triple, "linux");
}
