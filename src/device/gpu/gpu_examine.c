#include "gpu_examine.h"

#include <stdio.h>

#include "fail.h"

void slwi_gpu_say(slw_driver_status *out, slw_presence presence, slw_code code, const char *why) {
    out->presence = presence;
    out->code = code;
    (void)snprintf(out->why, sizeof out->why, "%.255s", why);
}

/* "CUDA " and the rest. */
static void say_of(const slwi_gpu_vendor *vendor, slw_driver_status *out, slw_presence presence, slw_code code,
                   const char *rest) {
    char why[128];
    (void)snprintf(why, sizeof why, "%s %s", vendor->name, rest);
    slwi_gpu_say(out, presence, code, why);
}

/* What earlier opens in this process learned. 0: nobody has asked yet. */
static int say_what_is_known(const slwi_gpu_vendor *vendor, const slwi_gpu_library *library, slw_driver_status *out) {
    int result = 0;
    switch (slwi_gpu_init_known(library->anchor, &result)) {
    case SLWI_GPU_INIT_FORKED:
        say_of(vendor, out, SLW_PRESENCE_MAYBE, SLW_E_FORKED, "was initialised before this process was forked");
        return 1;
    case SLWI_GPU_INIT_ASKED:
        break;
    default:
        return 0;
    }
    const char *reason = NULL;
    const char *const name = vendor->result_name(result);
    const slw_code code = vendor->classify(result, &reason);
    if (code == SLW_OK) {
        slwi_gpu_say(out, SLW_PRESENCE_YES, SLW_OK, "initialised in this process");
    } else if (name != NULL) {
        slwi_gpu_say(out, SLW_PRESENCE_NO, code, name);
    } else {
        say_of(vendor, out, SLW_PRESENCE_NO, code, "could not be initialised");
    }
    return 1;
}

void slwi_gpu_examine(const slwi_gpu_vendor *vendor, const char *named, slw_driver_status *out) {
    slw_error err = SLW_ERROR_INIT;
    slwi_gpu_library library;
    const slw_code code = vendor->open(named, NULL, &library, &err);
    if (code != SLW_OK) {
        slwi_gpu_say(out, SLW_PRESENCE_NO, code, err.tried[0] != '\0' ? err.tried : err.message);
        (void)snprintf(out->path, sizeof out->path, "%s", named != NULL ? named : "");
        return;
    }
    (void)snprintf(out->path, sizeof out->path, "%s", library.path);
    if (library.anchor == NULL) {
        char why[128];
        (void)snprintf(why, sizeof why, "the library has no %s", vendor->initialise);
        slwi_gpu_say(out, SLW_PRESENCE_NO, SLW_E_UNAVAILABLE, why);
    } else if (!say_what_is_known(vendor, &library, out)) {
        vendor->look(&library, named != NULL, out);
    }
}
