/* Borrowed bytes, owned text, digests, and the cancel token. */
#ifndef SLIPWAY_BYTES_H
#define SLIPWAY_BYTES_H

#include <slipway/alloc.h>
#include <slipway/error.h>

SLW_BEGIN_DECLS

/* A borrowed span, passed by value; the giver says until when it holds.  File names and payload names are raw bytes of
   the file system, not text: bytes that are not UTF-8 enter records as U+DC80 to U+DCFF. */
typedef struct slw_bytes {
    const void *data;
    size_t size;
} slw_bytes;

/* Text the caller owns; NUL-terminated (size is without the NUL).  Release with slw_text_release. */
typedef struct slw_text {
    char *data;
    size_t size;
    slw_allocator allocator;
} slw_text;

#define SLW_TEXT_INIT                                                                                                  \
    { NULL, 0, SLW_ALLOCATOR_INIT }

/* Frees and empties; a text that holds nothing is fine. */
SLW_API void slw_text_release(slw_text *text);
/* A text with a copy of the bytes, from `allocator` (NULL: libc). `out` is untouched on failure: NO_MEMORY, USAGE. */
SLW_API SLW_MUST_CHECK slw_code slw_text_copy(const slw_allocator *allocator, slw_bytes bytes, slw_text *out,
                                              slw_error *err);

/* A SHA-256 digest. Its text form is 64 lowercase hexadecimal digits and nothing else. */
typedef struct slw_digest {
    uint8_t bytes[32];
} slw_digest;

#define SLW_DIGEST_TEXT_SIZE 65 /* with the NUL */

/* Writes the text form. Threads: any. */
SLW_API void slw_digest_format(const slw_digest *digest, char out[SLW_DIGEST_TEXT_SIZE]);

/* Reads the text form: exactly 64 lowercase hexadecimal digits (`size` bytes of `text`), else SLW_E_USAGE, reason
   BAD_DIGEST, and `out` is untouched. NULL text is refused the same way. */
SLW_API SLW_MUST_CHECK slw_code slw_digest_parse(const char *text, size_t size, slw_digest *out, slw_error *err);

/* Waits are bounded: 0 in a timeout field means the default its comment names, SLW_NO_TIMEOUT none. */
#define SLW_NO_TIMEOUT UINT64_MAX

/* A cancel token: one side requests, the other polls, at least every 50 ms in every wait of the library. A call that
   has to wait or build ends with SLW_E_CANCELLED then; one that has its answer already gives it. It must outlive the
   calls it was given to. */
typedef struct slw_cancel slw_cancel;

SLW_API SLW_MUST_CHECK slw_code slw_cancel_create(const slw_allocator *allocator, slw_cancel **out, slw_error *err);
SLW_API void slw_cancel_request(slw_cancel *token);        /* any thread, also from a signal handler; for good */
SLW_API int slw_cancel_requested(const slw_cancel *token); /* 0 for NULL */
SLW_API void slw_cancel_release(slw_cancel **token);       /* accepts a pointer to NULL */

SLW_END_DECLS
#endif
