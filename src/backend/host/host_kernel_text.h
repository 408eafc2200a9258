/* The shipped kernel header, inside the library. */
#ifndef SLWI_HOST_KERNEL_TEXT_H
#define SLWI_HOST_KERNEL_TEXT_H

#define SLWI_HOST_KERNEL_INCLUDE "slipway/host_kernel.h" /* how a kernel names it */

extern const char *const slwi_host_kernel_lines[]; /* ended by NULL */

#endif
