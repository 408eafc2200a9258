/* Memory and streams of a device: arguments are checked here, the work is the driver's. */
#include "device_object.h"
#include "fail.h"

slw_code slw_device_alloc(slw_device *device, uint64_t size_bytes, slw_device_address *out, slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code != SLW_OK) return code;
    if (out == NULL || size_bytes == 0) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "an allocation needs a size and a place for its address");
    }
    slw_device_address address = 0;
    code = slwi_device_answer(device, device->driver->alloc(device->state, size_bytes, &address, err), err);
    if (code == SLW_OK) *out = address;
    return code;
}

slw_code slw_device_free(slw_device *device, slw_device_address *address, slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code != SLW_OK) return code;
    if (address == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "no address to free");
    if (*address == 0) return SLW_OK;
    code = slwi_device_answer(device, device->driver->free(device->state, *address, err), err);
    if (code == SLW_OK) *address = 0;
    return code;
}

/* Nothing to copy needs no address; something to copy needs both, and an end that exists. */
static slw_code check_copy(slw_device_address address, const void *memory, uint64_t size_bytes, slw_error *err) {
    if (size_bytes == 0) return SLW_OK;
    if (address == 0 || memory == NULL || size_bytes > UINT64_MAX - address || size_bytes > SIZE_MAX) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "a copy of %llu bytes needs two addresses",
                         (unsigned long long)size_bytes);
    }
    return SLW_OK;
}

slw_code slw_device_copy_in(slw_device *device, slw_device_address to, const void *from, uint64_t size_bytes,
                            slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code == SLW_OK) code = check_copy(to, from, size_bytes, err);
    if (code != SLW_OK || size_bytes == 0) return code;
    return slwi_device_answer(device, device->driver->copy_in(device->state, to, from, size_bytes, err), err);
}

slw_code slw_device_copy_out(slw_device *device, void *to, slw_device_address from, uint64_t size_bytes,
                             slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code == SLW_OK) code = check_copy(from, to, size_bytes, err);
    if (code != SLW_OK || size_bytes == 0) return code;
    return slwi_device_answer(device, device->driver->copy_out(device->state, to, from, size_bytes, err), err);
}

slw_code slw_device_stream_create(slw_device *device, slw_stream *out, slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code != SLW_OK) return code;
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "no place for the stream");
    slw_stream stream = SLW_STREAM_DEFAULT;
    code = slwi_device_answer(device, device->driver->stream_create(device->state, &stream, err), err);
    if (code == SLW_OK) *out = stream;
    return code;
}

slw_code slw_device_stream_destroy(slw_device *device, slw_stream *stream, slw_error *err) {
    slw_code code = slwi_device_enter(device, err);
    if (code != SLW_OK) return code;
    if (stream == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "no stream to destroy");
    if (stream->native == NULL) return SLW_OK; /* the default stream is nobody's to destroy */
    code = slwi_device_answer(device, device->driver->stream_destroy(device->state, *stream, err), err);
    if (code == SLW_OK) stream->native = NULL;
    return code;
}

slw_code slw_device_synchronize(slw_device *device, const slw_stream *stream, slw_error *err) {
    const slw_code code = slwi_device_enter(device, err);
    if (code != SLW_OK) return code;
    return slwi_device_answer(device, device->driver->synchronize(device->state, stream, err), err);
}

slw_code slwi_device_wait_idle(slw_device *device, slw_stream stream, uint64_t deadline_ns, slw_error *err) {
    const slw_code code = slwi_device_check(device, err);
    if (code != SLW_OK) return code;
    return slwi_device_answer(device, device->driver->wait_idle(device->state, stream, deadline_ns, err), err);
}
