/* Target names, "sm_90a" and "gfx942:sramecc+:xnack-": what they say, and which image runs on which device. Part of the
 * vocabulary of identity: backends choose images by it, the lifecycle refuses by it. Pure functions of text. */
#ifndef SLWI_TARGET_H
#define SLWI_TARGET_H

#include <slipway/contract.h>

typedef struct slwi_sm {
    uint32_t number; /* 90; the last digit is the minor number */
    char variant;    /* 'a': this architecture only; 'f': its family; 0: plain */
} slwi_sm;

/* 1 for "sm_NUMBER" with at least two digits, alone or with 'a' or 'f' behind it. Unknown numbers are fine. */
int slwi_sm_parse(const char *text, slwi_sm *out);

#define SLWI_GFX_ANY 0u /* not said: runs with either */
#define SLWI_GFX_OFF 1u
#define SLWI_GFX_ON  2u

typedef struct slwi_gfx {
    char processor[32]; /* "gfx942", "gfx11-generic" */
    uint32_t sramecc, xnack;
    uint32_t generic_version; /* of a generic code object; 0: not known or not generic */
} slwi_gfx;

/* 1 for a processor with features in either order, each once ("gfx90a:xnack-:sramecc+"). */
int slwi_gfx_parse(const char *text, slwi_gfx *out);
/* As LLVM writes it: features in the order of their names. */
void slwi_gfx_format(const slwi_gfx *gfx, char out[64]);

/* What an image is for. */
typedef struct slwi_built_for {
    slw_image_kind kind;
    const char *target;
    const char *isa_version; /* of PTX; NULL: not known */
} slwi_built_for;

/* Does a device with that target run the image? OK, or TARGET_MISMATCH with `built->target` as subject and the reason
     KIND          another vendor's, or no image that can be loaded (LTO IR)
     ARCHITECTURE  another architecture, or a newer one than the device
     VARIANT       an 'a' or 'f' image outside its architecture or family
     FEATURE       sramecc or xnack differ
     ISA_VERSION   PTX newer than the device's driver compiles (device_isa, major × 10 + minor; 0: not known), or older
                   than its own target exists in
   Sources of the rules stand in target_cuda.c and target_hip.c. */
slw_code slwi_target_runs(const slwi_built_for *built, const char *device_target, uint32_t device_isa, slw_error *err);

/* How well it fits among several that run, more is better: the exact binary, a family's, an older minor number's of the
   same major, then PTX, the newest first. 0: does not run. */
uint32_t slwi_target_rank(const slwi_built_for *built, const char *device_target);

#endif
