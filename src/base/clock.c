/* Deadlines. */
#include "clock.h"

#include "checked.h"
#include "fail.h"
#include "os.h"

uint64_t slwi_now_ns(void) {
    const slwi_os *os = slwi_os_get();
    return os->now_ns(os);
}

uint64_t slwi_deadline_ns(uint64_t timeout_ns, uint64_t fallback_ns) {
    const uint64_t timeout = timeout_ns == 0 ? fallback_ns : timeout_ns;
    uint64_t deadline = SLWI_NEVER;
    if (timeout == SLW_NO_TIMEOUT || slwi_add_u64(slwi_now_ns(), timeout, &deadline)) return SLWI_NEVER;
    return deadline;
}

slw_code slwi_check_wait(uint64_t deadline_ns, const slw_cancel *cancel, const char *what, slw_error *err) {
    if (slw_cancel_requested(cancel)) return slwi_fail(err, SLW_E_CANCELLED, NULL, "cancelled: %s", what);
    if (deadline_ns != SLWI_NEVER && slwi_now_ns() >= deadline_ns) {
        return slwi_fail(err, SLW_E_TIMEOUT, NULL, "out of time: %s", what);
    }
    return SLW_OK;
}
