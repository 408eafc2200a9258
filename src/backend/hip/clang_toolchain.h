/* clang with its AMDGPU target, and the linker and libraries it goes with: found, asked, proved. */
#ifndef SLWI_CLANG_TOOLCHAIN_H
#define SLWI_CLANG_TOOLCHAIN_H

#include <slipway/sys/backend_impl.h>

#include "tool_answer.h"

#define SLWI_CLANG_TRIPLE "amdgcn-amd-amdhsa"

typedef struct slwi_clang_toolchain {
    slw_allocator allocator;
    char *found;  /* as the search met it: /usr/bin/clang */
    char *driver; /* with every link followed; this is what is started */
    char *path;   /* PATH of every child */
    slwi_tool_answer answer;
    slw_memo *memo;          /* borrowed; NULL: none */
    slw_digest driver_proof; /* of the driver's path and bytes */
    int driver_proved;
} slwi_clang_toolchain;

slw_code slwi_clang_toolchain_open(const slw_toolchain_request *request, slwi_clang_toolchain **out, slw_error *err);
void slwi_clang_toolchain_close(slwi_clang_toolchain **toolchain);

/* 1 when clang found ROCm's device libraries (the mathematics and work-item functions of OpenCL and HIP) and there is
   one for the processor: without it clang refuses to compile at all. */
int slwi_clang_has_device_libraries(const slwi_clang_toolchain *toolchain, const char *processor);
/* 1 when it found the HIP headers. */
int slwi_clang_has_hip(const slwi_clang_toolchain *toolchain);
/* 1 when clang lists the processor among those it compiles for. */
int slwi_clang_has_processor(const slwi_clang_toolchain *toolchain, const char *processor);

/* ---- the parts ---- */

/* Starts the driver and fills the answer. UNSUPPORTED (UNKNOWN_COMPILER: no clang, or a wrapper around one; TARGET: it
   was built without AMDGPU); TOOL_MISSING (NO_LINKER) with the places in `tried`. */
slw_code slwi_clang_discover(const slwi_clang_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                             slw_error *err);
/* Declares, fills, proves and seals the four components. */
slw_code slwi_clang_declare_identity(const slwi_clang_toolchain *toolchain, slw_identity *identity, slw_error *err);

/* The fixed parts of the command lines, each NULL-terminated: what discovery asks about is what is done. */
extern const char *const slwi_clang_compile_before[]; /* options of the request may override these */
extern const char *const slwi_clang_compile_after[];  /* and may not override these */
extern const char *const slwi_clang_for_cl[];
extern const char *const slwi_clang_for_hip[];
extern const char *const slwi_clang_for_ir[];
extern const char *const slwi_clang_code_only[]; /* the IR has been optimised already */
/* Facts of the answer, among those of SLWI_TOOL_FACT_LIBRARY. */
#define SLWI_CLANG_FACT_HIP "hip" /* the HIP headers were found */

#endif
