/* Which compiler options may enter a key. An allow-list: an option that is not on it may name a file, a program or a
 * variable that is not in the key, so the request becomes private and the option is named. */
#ifndef SLWI_HOST_OPTIONS_H
#define SLWI_HOST_OPTIONS_H

#include "tool_list.h"

#define SLWI_HOST_OPTIONS_MAX 4096u

typedef struct slwi_host_options {
    slwi_tool_list compile; /* for the compilation, in order, with "native" expanded */
    slwi_tool_list link;    /* for the link: what is not on the list, for it may be the linker's */
    int native;             /* 1: a machine option asks for this very processor */
    char why[256];          /* why the request is private ("OPTION -fplugin=x"); "": it is not */
} slwi_host_options;

/* USAGE (RESERVED: an option that slipway sets itself; INPUT: a file among the options; EMPTY; MISSING_VALUE), LIMIT,
   NO_MEMORY. `subject` is the option. On success the caller frees *out. */
slw_code slwi_host_options_parse(const char *const *flags, size_t count, const slw_allocator *allocator,
                                 slwi_host_options *out, slw_error *err);
void slwi_host_options_free(slwi_host_options *options);

#endif
