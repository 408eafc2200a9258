#include "gpu_result.h"

#include "fail.h"

const char *slwi_gpu_result_name(const slwi_gpu_results *results, int result) {
    size_t low = 0, high = results->name_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (results->names[middle].result == result) return results->names[middle].name;
        if (results->names[middle].result < result) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const slwi_gpu_meaning *slwi_gpu_result_meaning(const slwi_gpu_results *results, int result) {
    for (size_t i = 0; i < results->meaning_count; i++) {
        if (results->meanings[i].result == result) return &results->meanings[i];
    }
    return NULL;
}

slw_code slwi_gpu_result_classify(const slwi_gpu_results *results, int result, const char **reason) {
    *reason = NULL;
    if (result == 0) return SLW_OK;
    if (results->is_sticky(result)) {
        *reason = "STICKY";
        return SLW_E_LOST;
    }
    const slwi_gpu_meaning *const known = slwi_gpu_result_meaning(results, result);
    if (known == NULL) return SLW_E_DRIVER;
    *reason = known->reason;
    return known->code;
}

slw_code slwi_gpu_fail(const slwi_gpu_results *results, const slwi_gpu_failure *failure, slw_code code,
                       const char *reason, slw_error *err) {
    const slwi_gpu_meaning *const known = slwi_gpu_result_meaning(results, failure->result);
    const char *const version = failure->version != NULL ? failure->version : "";
    slwi_error_raw(err, failure->name, failure->result);
    slwi_error_path(err, failure->library);
    slwi_error_kernel(err, failure->kernel, failure->device);
    if (known != NULL && known->hint != NULL) slwi_error_hint(err, known->hint);
    return slwi_fail(err, code, reason, "%s: %s (%d)%s%s", failure->what, failure->name, failure->result,
                     version[0] != '\0' ? ", " : "", version);
}
