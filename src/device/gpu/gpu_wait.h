/* Waiting for a stream, in the same way for every vendor: the vendors' own waits have no deadline. */
#ifndef SLWI_GPU_WAIT_H
#define SLWI_GPU_WAIT_H

#include <slipway/error.h>

#define SLWI_GPU_NOT_READY 600 /* to both vendors */

/* What is asked again and again: the vendor's result for one event. */
typedef int (*slwi_gpu_query)(const void *context, void *event);

/* Asks until the answer is another than NOT_READY, which *result then is. TIMEOUT: *result is NOT_READY. */
slw_code slwi_gpu_poll(slwi_gpu_query query, const void *context, void *event, uint64_t deadline_ns, int *result,
                       slw_error *err);
/* USAGE (reason CAPTURING): what is captured does not run, so nothing would end the wait, and asking ends the
   capture. */
slw_code slwi_gpu_fail_capturing(const char *device, slw_error *err);

#endif
