/* The system's compiler: found, asked, proved. */
#ifndef SLWI_HOST_TOOLCHAIN_H
#define SLWI_HOST_TOOLCHAIN_H

#include <slipway/sys/backend_impl.h>

#include "tool_answer.h"

typedef struct slwi_host_toolchain {
    slw_allocator allocator;
    char *found;  /* as the search met it: /usr/bin/cc */
    char *driver; /* with every link followed; this is what is started */
    char *path;   /* PATH of every child */
    slwi_tool_answer answer;
    slw_memo *memo;          /* borrowed; NULL: none */
    slw_digest driver_proof; /* of the driver's path and bytes */
    int driver_proved;
} slwi_host_toolchain;

slw_code slwi_host_toolchain_open(const slw_toolchain_request *request, slwi_host_toolchain **out, slw_error *err);
void slwi_host_toolchain_close(slwi_host_toolchain **toolchain);

/* ---- the parts ---- */

/* See slwi_tool_find. */
slw_code slwi_host_find_compiler(const char *compiler, const char *search_path, char *found, char *resolved,
                                 slw_error *err);

/* Starts the driver and fills the answer. UNSUPPORTED when it is no gcc or clang, or compiles for another machine. */
slw_code slwi_host_discover(const slwi_host_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                            slw_error *err);
/* The same of a driver that only preprocesses C++ for another compiler (nvcc): of `toolchain` the allocator, the driver
   and the path are used. */
slw_code slwi_host_discover_cxx(const slwi_host_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                                slw_error *err);

/* Declares, fills, proves and seals the four components. */
slw_code slwi_host_declare_identity(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err);

/* The specs and configuration files of the answer, judged (tool_config.h): what may reach outside the key rejects the
   component. For nvcc's host compiler as well. */
slw_code slwi_host_check_configs(const slwi_tool_answer *answer, const char *driver, const slw_allocator *allocator,
                                 slw_identity *identity, const char *component, slw_error *err);

/* What the linker will open for the libraries of the link: found as the linker finds them, linker scripts followed.
   What cannot be followed is said in why[256] (OK is returned: the identity is then not proved). */
typedef struct slwi_host_link_inputs {
    slwi_tool_list files;  /* archives, scripts, objects */
    slwi_tool_list shared; /* shared libraries */
    char why[256];         /* "": all was found and understood */
} slwi_host_link_inputs;
slw_code slwi_host_link_inputs_find(const slwi_tool_answer *answer, const slw_allocator *allocator,
                                    slwi_host_link_inputs *out, slw_error *err);
void slwi_host_link_inputs_free(slwi_host_link_inputs *inputs);

/* The fixed part of every link, after -shared: what discovery asks about is what is done. NULL-terminated. */
extern const char *const slwi_host_link_arguments[];
/* The fixed part of every compilation, before and after the request's options. NULL-terminated. */
extern const char *const slwi_host_compile_before[];
extern const char *const slwi_host_compile_after[];

#endif
