/* Finding a vendor's driver library and its symbols, in the same way for every vendor.
 *
 * A library that was opened is never closed: vendors' libraries have handlers that run at exit, and code of theirs may
 * run in threads of their own. Their names say nothing of what is loaded (a stub has the real one's soname), so the
 * file behind an address is asked for and stands in every error. */
#ifndef SLWI_GPU_LIBRARY_H
#define SLWI_GPU_LIBRARY_H

#include <slipway/device.h>

#define SLWI_GPU_PATH_BYTES 512

typedef struct slwi_gpu_names {
    const char *kind;         /* "cuda", for messages */
    const char *const *names; /* NULL-terminated, the best first */
    const char *anchor;       /* a symbol that every such library has */
    int prefer_loaded;        /* 1: the copy that this process has already wins over a better name */
} slwi_gpu_names;

typedef struct slwi_gpu_library {
    const slw_library_loader *loader; /* NULL: the system's */
    void *handle;
    void *anchor;                   /* its address; NULL: it has none */
    char path[SLWI_GPU_PATH_BYTES]; /* of the file that is really loaded; the name where that is not known */
} slwi_gpu_library;

/* Opens the library called `named`, or with NULL the first of the names that opens. UNAVAILABLE (reason NO_LIBRARY),
   with one line in err->tried for each name and the loader's words; USAGE (BAD_LOADER). */
slw_code slwi_gpu_library_open(const slwi_gpu_names *names, const char *named, const slw_library_loader *loader,
                               slwi_gpu_library *out, slw_error *err);
/* NULL: it has no such symbol. */
void *slwi_gpu_library_symbol(const slwi_gpu_library *library, const char *name);

typedef struct slwi_gpu_symbol {
    const char *name;     /* as people know it */
    const char *exported; /* as the library exports that version of it */
    int version;          /* pinned, for drivers that are asked for one; 0: not by version */
    int required;
    uint32_t capability; /* the bit that an optional one sets */
    size_t offset;       /* of its pointer in the table */
} slwi_gpu_symbol;

/* The address of one symbol; NULL: not there. */
typedef void *(*slwi_gpu_lookup)(const void *context, const slwi_gpu_library *library, const slwi_gpu_symbol *symbol);

/* Fills a table of function pointers and the bits of the optional ones that are there. `table` and `capabilities` are
   written on failure too. UNAVAILABLE (reason MISSING_SYMBOLS) names the required ones that are not, in the list's
   order, and counts those that the subject has no room for. */
slw_code slwi_gpu_resolve(const slwi_gpu_library *library, const slwi_gpu_symbol *symbols, size_t count,
                          slwi_gpu_lookup lookup, const void *context, void *table, uint32_t *capabilities,
                          slw_error *err);

/* ---- Initialising, once for each process and library -------------------------------------------------------------
 *
 * The library is known by the address of its anchor, whichever name or loader led there; what its initialising function
 * said is remembered (nothing is without an anchor, NULL). A forked child of a process that has initialised is told so
 * instead of asking; of one that failed to, what it was told. */

#define SLWI_GPU_INIT_ASKED   0
#define SLWI_GPU_INIT_FORKED  1
#define SLWI_GPU_INIT_UNKNOWN 2

/* ASKED: *result is the function's answer, now or earlier. FORKED: an ancestor had asked; it is not called. */
int slwi_gpu_init_once(const void *address, int (*initialise)(void *context), void *context, int *result);
/* The same without asking: UNKNOWN where nobody has. */
int slwi_gpu_init_known(const void *address, int *result);

/* ---- What can be seen without a driver ------------------------------------------------------------------------- */

int slwi_gpu_path_exists(const char *path);
/* The first line of a small file, cut; 0 where it cannot be read. */
int slwi_gpu_first_line(const char *path, char *out, size_t size);

#endif
