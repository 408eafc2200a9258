/* Private directories and the values of builders: counted, let go of together. */
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "fork.h"
#include "memory.h"
#include "store_object.h"

static void destroy_private(slwi_ref *self) {
    slwi_private *built = (slwi_private *)(void *)self;
    const slw_allocator allocator = built->allocator;
    const slwi_os *os = slwi_os_get();
    /* In a forked child both belong to the parent. */
    if (built->generation == slwi_fork_generation()) {
        if (built->value != NULL && built->release_value != NULL) built->release_value(built->context, built->value);
        if (built->removable) (void)slwi_remove_tree(os, AT_FDCWD, built->path);
    }
    slwi_free(&allocator, built->path);
    slwi_free(&allocator, built);
}

slwi_private *slwi_private_create(const slw_store *store, const char *path, int removable) {
    slwi_private *built = slwi_alloc_zero(&store->allocator, sizeof *built);
    if (built == NULL) return NULL;
    built->path = slwi_strndup(&store->allocator, path, strlen(path));
    if (built->path == NULL) {
        slwi_free(&store->allocator, built);
        return NULL;
    }
    slwi_ref_init(&built->ref, destroy_private);
    built->allocator = store->allocator;
    built->generation = slwi_fork_generation();
    built->removable = removable;
    return built;
}

void slw_build_report_release(slw_build_report *report) {
    if (report == NULL || report->size != sizeof *report) return;
    slwi_private *built = report->owned_;
    report->owned_ = NULL;
    report->value = NULL;
    report->private_directory = NULL;
    slwi_release(built);
}
