/* NVRTC as a compiler of CUDA C. It is a library that reads variables of its process, opens another library by name and
 * cannot be stopped: so it is never loaded here, but by slipway-nvrtc (tools/slipway_nvrtc.c), which is started in the
 * made environment like every compiler, and says which files were really mapped.
 *
 * It lists nothing of what it read. So a request that has include roots, and a source that names a file by a path which
 * may lead outside the toolkit's own headers, stays private. */
#ifndef SLWI_NVRTC_H
#define SLWI_NVRTC_H

#include "tool_list.h"

#define SLWI_NVRTC_DRIVER "slipway-nvrtc"

/* 1 for a program of that name. */
int slwi_nvrtc_is_driver(const char *path);
/* The newest libnvrtc.so.N beside a tool of the toolkit (NULL: none is known), else in the toolkit's usual place and in
   the system's: into out[SLWI_TOOL_PATH_MAX], with every link followed. TOOL_MISSING (NO_LIBRARY) with the directories
   in `tried`; NO_MEMORY. */
slw_code slwi_nvrtc_find_library(const slw_allocator *allocator, const char *tool, char *out, slw_error *err);
/* ptxas of the same toolkit: 1, or 0. */
int slwi_nvrtc_find_assembler(const char *library, char *out);
/* The include roots of the toolkit that the library is part of, in the order in which they are searched; also those
   that are not there. */
void slwi_nvrtc_includes(const char *library, slwi_tool_list *out);
/* Why a source that NVRTC compiles is private: "SOURCE …"; NULL: it is not. Static. */
const char *slwi_nvrtc_source_reason(slw_bytes text, size_t include_roots);

#endif
