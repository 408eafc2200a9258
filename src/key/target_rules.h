/* What the two vendors' rules share with target.c. */
#ifndef SLWI_TARGET_RULES_H
#define SLWI_TARGET_RULES_H

#include "target.h"

/* Why an image does not run. */
typedef struct slwi_target_verdict {
    const char *reason; /* as target.h lists them; NULL: it runs */
    const char *why;    /* for the message; static storage */
    const char *hint;   /* what to do, or NULL */
} slwi_target_verdict;

/* Of a cubin and of PTX on "sm_90". `device_isa` 0: not known. */
slwi_target_verdict slwi_cubin_runs(const slwi_built_for *built, const slwi_sm *device);
slwi_target_verdict slwi_ptx_runs(const slwi_built_for *built, const slwi_sm *device, uint32_t device_isa);
/* Of a code object on "gfx942:sramecc+:xnack-". */
slwi_target_verdict slwi_hsaco_runs(const slwi_built_for *built, const slwi_gfx *device);

/* The ranks of images that run: more is better, never 0. */
uint32_t slwi_cubin_rank(const slwi_built_for *built, const slwi_sm *device);
uint32_t slwi_ptx_rank(const slwi_built_for *built);
uint32_t slwi_hsaco_rank(const slwi_built_for *built, const slwi_gfx *device);

#endif
