/* Where in a JSON text a value stands: for errors found after parsing, in what the text means. */
#ifndef SLWI_JSON_PLACE_H
#define SLWI_JSON_PLACE_H

#include <slipway/bytes.h>

#include "json.h"

/* Sets line, column and offset of `err` to the value that a path of member and item numbers leads to (from 0, in the
   order of the text; no steps: the whole document). The text has been parsed, so it is JSON. */
void slwi_json_place(slw_bytes text, const size_t *path, size_t steps, slw_error *err);

/* The number of a member in the order of the text; 0 when there is none of that name. */
size_t slwi_json_member_number(const slwi_json *object, slw_bytes name);

#endif
