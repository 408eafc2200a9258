/* What this build of the library is: host kernels run inside it, so they must be of the same machine and C library. */
#ifndef SLWI_HOST_TARGET_H
#define SLWI_HOST_TARGET_H

#include <stdint.h>

/* "x86_64-linux-gnu", "aarch64-linux-musl". Static storage. */
const char *slwi_host_target(void);
/* The machine number of its ELF files; 0: this platform has none. */
uint16_t slwi_host_machine(void);
/* 1 for musl, 0 for glibc. */
int slwi_host_is_musl(void);
/* 1 when a compiler's target triple ("x86_64-pc-linux-gnu") names this machine, system and C library. */
int slwi_host_triple_fits(const char *triple);

#endif
