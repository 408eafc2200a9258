/* Dynamic libraries. In a static musl program the loader is not there, and says so in `why`. */
#include "platform.h"

#include <dlfcn.h>
#include <stdio.h>

static void *os_dl_open(const slwi_os *os, const char *path, char why[256]) {
    (void)os;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    why[0] = '\0';
    if (library == NULL) {
        const char *words = dlerror();
        (void)snprintf(why, 256, "%s", words != NULL ? words : "the loader does not say why");
    }
    return library;
}

static void *os_dl_symbol(const slwi_os *os, void *library, const char *name) {
    (void)os;
    return dlsym(library, name);
}

static int os_dl_close(const slwi_os *os, void *library) {
    (void)os;
    return dlclose(library) == 0 ? 0 : -EINVAL;
}

static void *os_dl_loaded(const slwi_os *os, const char *path) {
    (void)os;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL) (void)dlerror();
    return library;
}

static int os_dl_path(const slwi_os *os, const void *address, char out[4096]) {
    (void)os;
    Dl_info info = {0};
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return -ENOENT;
    const int length = snprintf(out, 4096, "%s", info.dli_fname);
    return length < 0 || length >= 4096 ? -ENAMETOOLONG : 0;
}

void slwi_platform_library(slwi_os *table) {
    table->dl_open = os_dl_open;
    table->dl_symbol = os_dl_symbol;
    table->dl_close = os_dl_close;
    table->dl_loaded = os_dl_loaded;
    table->dl_path = os_dl_path;
}
