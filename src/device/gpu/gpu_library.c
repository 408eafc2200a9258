#include "gpu_library.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "fork.h"
#include "os.h"

#define WHY_BYTES         256
#define LINE_BYTES        (WHY_BYTES + 512)
#define MISSING_BYTES     480
#define LIBRARIES_AT_MOST 32
#define INIT_NAP_NS       200000u

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void *open_name(const slw_library_loader *loader, const char *name, char why[WHY_BYTES]) {
    why[0] = '\0';
    if (loader != NULL) {
        void *const handle = loader->open(loader->context, name, why, WHY_BYTES);
        why[WHY_BYTES - 1] = '\0';
        return handle;
    }
    const slwi_os *os = slwi_os_get();
    return os->dl_open(os, name, why);
}

void *slwi_gpu_library_symbol(const slwi_gpu_library *library, const char *name) {
    const slw_library_loader *const loader = library->loader;
    if (loader != NULL) return loader->symbol(loader->context, library->handle, name);
    const slwi_os *os = slwi_os_get();
    return os->dl_symbol(os, library->handle, name);
}

static int ask_path(const slwi_gpu_library *library, char *out, size_t size) {
    const slw_library_loader *const loader = library->loader;
    out[0] = '\0';
    if (library->anchor == NULL) return 0;
    if (loader != NULL) {
        const int known = loader->path != NULL && loader->path(loader->context, library->anchor, out, size);
        out[size - 1] = '\0';
        return known && out[0] != '\0';
    }
    const slwi_os *os = slwi_os_get();
    char path[4096];
    if (os->dl_path(os, library->anchor, path) < 0 || path[0] == '\0') return 0;
    const size_t length = strlen(path);
    if (length >= size) return 0;
    memcpy(out, path, length + 1);
    return 1;
}

static void take(const slwi_gpu_names *names, const char *name, void *handle, slwi_gpu_library *out) {
    out->handle = handle;
    out->anchor = slwi_gpu_library_symbol(out, names->anchor);
    if (!ask_path(out, out->path, sizeof out->path)) (void)snprintf(out->path, sizeof out->path, "%s", name);
}

static int try_name(const slwi_gpu_names *names, const char *name, slwi_gpu_library *out, slw_error *err) {
    char why[WHY_BYTES];
    void *const handle = open_name(out->loader, name, why);
    if (handle == NULL) {
        char line[LINE_BYTES];
        (void)snprintf(line, sizeof line, "%s: %s", name, why[0] != '\0' ? why : "not found");
        slwi_error_tried(err, line);
        return 0;
    }
    take(names, name, handle, out);
    return 1;
}

/* Two copies of different versions in one process do not get along (device.md B.1): what is there already is used, and
   by this reference to it stays, whatever the one who brought it does. */
static int try_loaded(const slwi_gpu_names *names, slwi_gpu_library *out) {
    if (!names->prefer_loaded || out->loader != NULL) return 0;
    const slwi_os *os = slwi_os_get();
    for (size_t i = 0; names->names[i] != NULL; i++) {
        void *const handle = os->dl_loaded(os, names->names[i]);
        if (handle == NULL) continue;
        take(names, names->names[i], handle, out);
        return 1;
    }
    return 0;
}

static int try_all(const slwi_gpu_names *names, slwi_gpu_library *out, slw_error *err) {
    if (try_loaded(names, out)) return 1;
    for (size_t i = 0; names->names[i] != NULL; i++) {
        if (try_name(names, names->names[i], out, err)) return 1;
    }
    return 0;
}

slw_code slwi_gpu_library_open(const slwi_gpu_names *names, const char *named, const slw_library_loader *loader,
                               slwi_gpu_library *out, slw_error *err) {
    if (loader != NULL && (loader->size != sizeof *loader || loader->open == NULL || loader->symbol == NULL)) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_LOADER", "the loader has another size, or leaves out a function");
    }
    slwi_gpu_library found = {.loader = loader};
    if (named != NULL ? try_name(names, named, &found, err) : try_all(names, &found, err)) {
        *out = found;
        return SLW_OK;
    }
    slwi_error_subject(err, names->kind, strlen(names->kind));
    if (named != NULL) {
        slwi_error_path(err, named);
        return slwi_fail(err, SLW_E_UNAVAILABLE, "NO_LIBRARY", "%s cannot be loaded as the %s driver", named,
                         names->kind);
    }
    slwi_error_hint(err, "Install the vendor's driver, or name its library.");
    return slwi_fail(err, SLW_E_UNAVAILABLE, "NO_LIBRARY", "no library of the %s driver here", names->kind);
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

typedef struct missing {
    char text[MISSING_BYTES];
    unsigned count, told;
} missing;

/* Keeps whole names only: a half one would be looked for. */
static void append_name(missing *list, const char *name) {
    const size_t used = strlen(list->text);
    list->count++;
    if (list->told + 1 != list->count || used + strlen(name) + 3 > MISSING_BYTES) return;
    (void)snprintf(list->text + used, MISSING_BYTES - used, "%s%s", used == 0 ? "" : ", ", name);
    list->told++;
}

static slw_code fail_missing(const slwi_gpu_library *library, const missing *list, slw_error *err) {
    char more[32] = "";
    if (list->told < list->count) (void)snprintf(more, sizeof more, " and %u more", list->count - list->told);
    char subject[MISSING_BYTES + sizeof more];
    (void)snprintf(subject, sizeof subject, "%s%s", list->text, more);
    slwi_error_path(err, library->path);
    slwi_error_subject(err, subject, strlen(subject));
    slwi_error_tried(err, library->path);
    slwi_error_hint(err, "The library is older than this program needs, or is none of the vendor's.");
    /* The whole list stands in the subject. */
    return slwi_fail(err, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS", "%.100s lacks %u symbols: %.300s", library->path,
                     list->count, subject);
}

slw_code slwi_gpu_resolve(const slwi_gpu_library *library, const slwi_gpu_symbol *symbols, size_t count,
                          slwi_gpu_lookup lookup, const void *context, void *table, uint32_t *capabilities,
                          slw_error *err) {
    missing lacking = {.text = ""};
    *capabilities = 0;
    for (size_t i = 0; i < count; i++) {
        const slwi_gpu_symbol *const symbol = &symbols[i];
        void *const address = lookup(context, library, symbol);
        /* An object pointer becomes a function pointer: POSIX says that dlsym's can be. */
        memcpy((char *)table + symbol->offset, &address, sizeof address);
        if (address != NULL) {
            *capabilities |= symbol->capability;
        } else if (symbol->required) {
            append_name(&lacking, symbol->name);
        }
    }
    return lacking.count == 0 ? SLW_OK : fail_missing(library, &lacking, err);
}

/* ---- Initialising ------------------------------------------------------------------------------------------------ */

typedef struct initialised {
    const void *address;
    uint64_t fork_generation; /* of the process that asks, or has asked */
    int is_done;
    int result;
} initialised;

/* Never held while a library initialises: the vendors' libraries have handlers and locks of their own for a fork, which
   come before ours there and after ours here. Held across a fork, so that no child finds it taken. */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static initialised known[LIBRARIES_AT_MOST];
static size_t known_count;

static void hold(void) {
    (void)pthread_mutex_lock(&init_lock);
}

static void let_go(void) {
    (void)pthread_mutex_unlock(&init_lock);
}

static void install_hook(void) {
    (void)slwi_fork_hook(hold, let_go, let_go);
}

static void lock(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_hook);
    hold();
}

/* Under the lock. An entry stays where it is. */
static initialised *find_known(const void *address) {
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].address == address) return &known[i];
    }
    return NULL;
}

/* Under the lock. NULL: more libraries than the table has places are asked each time, which the vendors allow. */
static initialised *claim(const void *address) {
    if (address == NULL || known_count == LIBRARIES_AT_MOST) return NULL;
    known[known_count] = (initialised){.address = address, .fork_generation = slwi_fork_generation()};
    return &known[known_count++];
}

/* Under the lock. What failed in an ancestor is told to its children as it was: nothing was set up that a fork could
   break. An answer that was on its way at the fork comes in the parent only. */
static int answer_of(const initialised *entry, int *result) {
    if (entry == NULL) return SLWI_GPU_INIT_UNKNOWN;
    const int has_failed = entry->is_done && entry->result != 0;
    if (entry->fork_generation != slwi_fork_generation() && !has_failed) return SLWI_GPU_INIT_FORKED;
    if (!entry->is_done) return SLWI_GPU_INIT_UNKNOWN;
    *result = entry->result;
    return SLWI_GPU_INIT_ASKED;
}

int slwi_gpu_init_known(const void *address, int *result) {
    lock();
    const int answer = answer_of(find_known(address), result);
    let_go();
    return answer;
}

/* Waits, polling, for the thread that asks; a condition variable would have to survive a fork. */
static int wait_for(const initialised *entry, int *result) {
    const slwi_os *os = slwi_os_get();
    for (;;) {
        os->sleep_ns(os, INIT_NAP_NS);
        lock();
        const int answer = answer_of(entry, result);
        let_go();
        if (answer != SLWI_GPU_INIT_UNKNOWN) return answer;
    }
}

int slwi_gpu_init_once(const void *address, int (*initialise)(void *context), void *context, int *result) {
    lock();
    initialised *entry = find_known(address);
    const int answer = answer_of(entry, result);
    const int is_under_way = entry != NULL;
    if (!is_under_way) entry = claim(address);
    let_go();
    if (answer != SLWI_GPU_INIT_UNKNOWN) return answer;
    if (is_under_way) return wait_for(entry, result);
    const int said = initialise(context);
    *result = said;
    if (entry == NULL) return SLWI_GPU_INIT_ASKED;
    lock();
    entry->result = said;
    entry->is_done = 1;
    let_go();
    return SLWI_GPU_INIT_ASKED;
}

/* ---- Without a driver -------------------------------------------------------------------------------------------- */

int slwi_gpu_path_exists(const char *path) {
    const slwi_os *os = slwi_os_get();
    slwi_stat identity;
    return os->fstatat(os, AT_FDCWD, path, 1, &identity) == 0;
}

int slwi_gpu_first_line(const char *path, char *out, size_t size) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) return 0;
    const int64_t got = os->read(os, fd, out, size - 1);
    (void)os->close(os, fd);
    if (got <= 0) return 0;
    out[got] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return 1;
}
