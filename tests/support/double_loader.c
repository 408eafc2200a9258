#include "double_loader.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Test programs have no arguments of their own in main. */
static const char *argument(const char *start) {
    static char arguments[16384];
    static size_t used;
    if (used == 0) {
        FILE *const f = fopen("/proc/self/cmdline", "rb");
        if (f == NULL) return NULL;
        used = fread(arguments, 1, sizeof arguments - 1, f);
        fclose(f);
    }
    for (size_t at = 0; at < used; at += strlen(arguments + at) + 1) {
        if (strncmp(arguments + at, start, strlen(start)) == 0) return arguments + at + strlen(start);
    }
    return NULL;
}

const char *slt_double_path(const char *kind) {
    char name[64];
    (void)snprintf(name, sizeof name, "--double-%s=", kind);
    const char *const given = argument(name);
    if (given != NULL) return given;
    (void)snprintf(name, sizeof name, "SLT_DOUBLE_%s", kind);
    for (char *at = name; *at != '\0'; at++) *at = (char)toupper((unsigned char)*at);
    return getenv(name);
}

static void *open_library(void *context, const char *name, char *why, size_t why_size) {
    slt_double *const d = context;
    const size_t used = strlen(d->tried);
    d->opens++;
    (void)snprintf(d->tried + used, sizeof d->tried - used, "%s%s", used == 0 ? "" : " ", name);
    if (!d->absent) return d->handle;
    (void)snprintf(why, why_size, "%s: cannot open shared object file: No such file or directory", name);
    return NULL;
}

static void *find_symbol(void *context, void *library, const char *name) {
    slt_double *const d = context;
    d->symbols++;
    if (d->control->hidden(name) || (d->only != NULL && strcmp(d->only, name) != 0)) return NULL;
    return dlsym(library, name);
}

static int path_of(void *context, const void *address, char *out, size_t out_size) {
    (void)context;
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return 0;
    return snprintf(out, out_size, "%s", info.dli_fname) < (int)out_size;
}

void slt_double_open(slt_double *d, const char *kind) {
    memset(d, 0, sizeof *d);
    d->kind = kind;
    d->path = slt_double_path(kind);
    ck_assert_msg(d->path != NULL, "no double of %s: give --double-%s=PATH", kind, kind);
    d->handle = dlopen(d->path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(d->handle != NULL, "%s", dlerror());
    const double_control *(*get)(void) = NULL;
    void *const found = dlsym(d->handle, "double_control_get");
    ck_assert_ptr_nonnull(found);
    memcpy(&get, &found, sizeof get);
    d->control = get();
    ck_assert_uint_eq(d->control->size, sizeof *d->control);
    static int opened; /* a child of this process must find what its parent left */
    if (!opened++) d->control->reset();
    d->loader = (slw_library_loader){sizeof d->loader, d, open_library, find_symbol, path_of};
}

void slt_double_use(slt_double *d, slw_device_options *options) {
    options->kind = d->kind;
    options->driver_library = d->path;
    options->loader = &d->loader;
}

void slt_double_check_violations(slt_double *d) {
    ck_assert_msg(d->control->violations() == 0, "%u violations, the first: %s", d->control->violations(),
                  d->control->violation(0));
}

void slt_double_check(slt_double *d) {
    char text[2048];
    slt_double_check_violations(d);
    ck_assert_msg(d->control->outstanding(text, sizeof text) == 0, "not given back:\n%s", text);
    ck_assert_int_eq(d->control->thread_balance(), 0);
}

void *slt_double_symbol(slt_double *d, const char *name) {
    void *const found = dlsym(d->handle, name);
    ck_assert_msg(found != NULL, "%s: %s", name, dlerror());
    return found;
}
