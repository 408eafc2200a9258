/* A typed record as JSON: the form that slw_record_parse reads, for documents that keep records. */
#ifndef SLWI_RECORD_JSON_H
#define SLWI_RECORD_JSON_H

#include <slipway/record.h>

#include "json.h"

#define SLWI_RECORD_JSON_HEIGHT 16u /* three levels of JSON each */

/* Canonical. 0, and nothing is written: the record is nested deeper than SLWI_RECORD_JSON_HEIGHT. */
int slwi_record_write_json(slwi_json_writer *writer, const slw_record *record);

#endif
