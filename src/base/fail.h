/* Filling a slw_error. First error wins: once a record holds a code, later ones are appended to its message. */
#ifndef SLWI_FAIL_H
#define SLWI_FAIL_H

#include <slipway/error.h>

/* Every public call starts with this (NULL is fine): clears all but size and the diagnostics buffer. A record whose
   size is not ours is left alone and treated as NULL by everything here. */
void slwi_error_reset(slw_error *err);

/* Sets code, reason and message (or appends when a code is set already) and returns `code`, so `return slwi_fail(…)`.
   `reason` is static storage or NULL. */
slw_code slwi_fail(slw_error *err, slw_code code, const char *reason, const char *format, ...) SLW_PRINTF(4, 5);
/* As slwi_fail for a failed system call: `error_number` is a positive errno; raw_name and raw_code are filled, `path`
   may be NULL. The message ends with ": EACCES (Permission denied)" by itself. */
slw_code slwi_fail_os(slw_error *err, slw_code code, const char *reason, int error_number, const char *path,
                      const char *format, ...) SLW_PRINTF(6, 7);

/* Details; each does nothing when err is NULL or when the field is set already. Strings are copied and cut, those
   marked static are kept as pointers. */
void slwi_error_subject(slw_error *err, const char *subject, size_t size);
void slwi_error_path(slw_error *err, const char *path);
/* line 0, column 0, offset UINT64_MAX: not known. */
void slwi_error_place(slw_error *err, uint32_t line, uint32_t column, uint64_t offset_bytes);
void slwi_error_amount(slw_error *err, const char *static_resource, uint64_t required, uint64_t limit,
                       const char *static_unit);
void slwi_error_kernel(slw_error *err, const char *kernel, const char *device);
void slwi_error_raw(slw_error *err, const char *raw_name, int64_t raw_code);
void slwi_error_hint(slw_error *err, const char *static_hint);
void slwi_error_phase(slw_error *err, const char *static_phase);
void slwi_error_tried(slw_error *err, const char *place);                      /* one line more */
void slwi_error_diagnostics(slw_error *err, const void *text, size_t size);    /* appended to the caller's buffer */
/* Copies all but size and the diagnostics buffer's address (its text is copied, cut). For waiters that share a failure.
 */
void slwi_error_copy(slw_error *to, const slw_error *from);
/* "EACCES"; "E<number>" for one we do not know (in `buffer`). */
const char *slwi_errno_name(int error_number, char buffer[16]);

#endif
