#include "host_driver.h"

#include <limits.h> /* any header of the C library says which one it is */

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE "riscv64"
#else
#define MACHINE "unknown"
#endif

#if defined(__linux__) && defined(__GLIBC__)
#define SYSTEM "linux-gnu"
#elif defined(__linux__)
#define SYSTEM "linux-musl"
#elif defined(__APPLE__)
#define SYSTEM "macos"
#else
#define SYSTEM "unknown"
#endif

const char *slwi_host_target(void) {
    return MACHINE "-" SYSTEM;
}
