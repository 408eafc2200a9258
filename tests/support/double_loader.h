/* Opens a double of a vendor's driver library, and is the loader that hands it to the tested library: symbols can be
 * hidden, every name that was asked for is kept.
 *
 *     slt_double d;
 *     slt_double_open(&d, "cuda");
 *     slt_double_use(&d, &options);    // options.kind, driver_library, loader
 *     …
 *     slt_double_check(&d);            // no violation, nothing left over */
#ifndef SLT_DOUBLE_LOADER_H
#define SLT_DOUBLE_LOADER_H

#include "../doubles/double_control.h"
#include "slt.h"

/* The library's file: argument --double-KIND=PATH of the program, else variable SLT_DOUBLE_KIND. NULL: not built. */
const char *slt_double_path(const char *kind);

typedef struct slt_double {
    const char *kind;
    const char *path;
    void *handle;
    const double_control *control;
    slw_library_loader loader;
    unsigned opens;   /* how often the library was asked for */
    unsigned symbols; /* how many symbols were asked for */
    char tried[1024]; /* every name it was asked for by, joined by spaces */
    int absent;       /* 1: the library is not there, whatever its name */
    const char *only; /* the only symbol that is there; NULL: all */
} slt_double;

/* Loads it, and resets it the first time in a process. Fails the test when there is none. */
void slt_double_open(slt_double *d, const char *kind);
void slt_double_use(slt_double *d, slw_device_options *options);
/* Fails the test for a violation or for anything taken and not given back. */
void slt_double_check(slt_double *d);
void slt_double_check_violations(slt_double *d);
/* The address of an entry point of the double itself, whatever is hidden; fails the test when there is none. */
void *slt_double_symbol(slt_double *d, const char *name);

#endif
