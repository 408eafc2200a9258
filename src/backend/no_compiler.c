#include "no_compiler.h"

#include "fail.h"

static slw_code refuse(slw_error *err) {
    slwi_error_hint(err,
                    "compile it with the vendor's compiler (nvcc -cubin, -fatbin or -ptx; hipcc) and give the result");
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_COMPILER", "the backend reads binaries and does not compile");
}

slw_code slwi_no_toolchain(const slw_toolchain_request *request, void **toolchain, slw_error *err) {
    (void)request;
    (void)toolchain;
    return refuse(err);
}

slw_code slwi_no_job(void *toolchain, const slw_compile_request *request, void **job, slw_error *err) {
    (void)toolchain;
    (void)request;
    (void)job;
    return refuse(err);
}

slw_code slwi_no_record(void *job, slw_record **out, slw_error *err) {
    (void)job;
    (void)out;
    return refuse(err);
}

slw_code slwi_no_stage(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    (void)job;
    (void)index;
    (void)context;
    return refuse(err);
}

slw_code slwi_no_build(void *job, const slw_stage_context *context, slw_error *err) {
    (void)job;
    (void)context;
    return refuse(err);
}

void slwi_nothing_to_close(void *nothing) {
    (void)nothing;
}

const char *slwi_nothing_to_say(const void *nothing) {
    (void)nothing;
    return NULL;
}
