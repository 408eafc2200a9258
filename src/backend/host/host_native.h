/* -march=native and its like, spelled out: as text they would mean another processor on another machine (pitfall 40).
   */
#ifndef SLWI_HOST_NATIVE_H
#define SLWI_HOST_NATIVE_H

#include "host_options.h"
#include "host_toolchain.h"

/* Replaces the machine options by what the driver makes of them here. Starts the driver, unless the memo knows its
   answer for this processor. */
slw_code slwi_host_expand_native(const slwi_host_toolchain *toolchain, slwi_host_options *options, slw_cancel *cancel,
                                 slw_error *err);

#endif
