#include "gpu_wait.h"

#include "clock.h"
#include "fail.h"
#include "os.h"

#define FIRST_NAP_NS   20000u
#define LONGEST_NAP_NS 1000000u

slw_code slwi_gpu_poll(slwi_gpu_query query, const void *context, void *event, uint64_t deadline_ns, int *result,
                       slw_error *err) {
    const slwi_os *os = slwi_os_get();
    uint64_t nap_ns = FIRST_NAP_NS;
    for (;;) {
        *result = query(context, event);
        if (*result != SLWI_GPU_NOT_READY) return SLW_OK;
        const slw_code code = slwi_check_wait(deadline_ns, NULL, "the stream is still busy", err);
        if (code != SLW_OK) return code;
        os->sleep_ns(os, nap_ns);
        nap_ns = nap_ns * 2u > LONGEST_NAP_NS ? LONGEST_NAP_NS : nap_ns * 2u;
    }
}

slw_code slwi_gpu_fail_capturing(const char *device, slw_error *err) {
    slwi_error_kernel(err, NULL, device);
    slwi_error_hint(err, "End the capture first, or name streams that do not capture.");
    return slwi_fail(err, SLW_E_USAGE, "CAPTURING", "the stream is being captured: nothing of it runs now");
}
