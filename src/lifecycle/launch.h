/* Bounds of the launch path. */
#ifndef SLWI_LAUNCH_H
#define SLWI_LAUNCH_H

#include "phase.h"

/* Parameters laid out on the stack of slw_launch when some of them are not the caller's (2 KiB). */
#define SLWI_LAUNCH_PARAMETERS 256u
/* Hidden parameters are zeros of at most this many bytes. */
#define SLWI_HIDDEN_BYTES      256u
#define SLWI_RETIRE_TIMEOUT_NS 10000000000ull
#define SLWI_LAUNCH_FLAGS      (SLW_LAUNCH_PROGRAMMATIC | SLW_LAUNCH_NON_PORTABLE_CLUSTER)

#endif
