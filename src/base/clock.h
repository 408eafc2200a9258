/* Deadlines on the monotonic clock, and the polling of cancel tokens. */
#ifndef SLWI_CLOCK_H
#define SLWI_CLOCK_H

#include <slipway/bytes.h>

#define SLWI_NEVER UINT64_MAX

uint64_t slwi_now_ns(void);
/* now + timeout, SLWI_NEVER for SLW_NO_TIMEOUT or on overflow; 0 gives now + fallback. */
uint64_t slwi_deadline_ns(uint64_t timeout_ns, uint64_t fallback_ns);
/* OK, or CANCELLED or TIMEOUT with `what` in the message. */
slw_code slwi_check_wait(uint64_t deadline_ns, const slw_cancel *cancel, const char *what, slw_error *err);

#endif
