/* The pre-scan: what json-c is never shown. Grammar, UTF-8, duplicate names, number range, size, depth, counts. */
#ifndef SLWI_JSON_SCAN_H
#define SLWI_JSON_SCAN_H

#include "json.h"

/* OK when the text is exactly one JSON value within the limits; else as slwi_json_parse. Iterative; time n log n in the
   names of one object, else linear. *lone_surrogates: how many \udXXX escapes stand alone (0 unless the limits allow
   them). */
slw_code slwi_json_scan(const slw_allocator *allocator, slw_bytes text, const slwi_json_limits *limits,
                        size_t *lone_surrogates, slw_error *err);
/* Replaces every lone surrogate escape of a text that passed the scan by its three bytes of WTF-8, which json-c passes
   through and would otherwise turn into U+FFFD. `out` holds text.size bytes; the length is returned. */
size_t slwi_json_rewrite(slw_bytes text, char *out);

/* Number rules, apart: 1 when the digits fit int64_t or uint64_t; 1 when the double they stand for is finite. */
int slwi_json_integer_fits(const char *digits, size_t size, int negative);
int slwi_json_double_is_finite(const char *number, size_t size);

#endif
