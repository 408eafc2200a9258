/* slipway.json without what only an explanation reads: on the way to a launch it is passed over, not parsed. */
#ifndef SLWI_ENTRY_DOCUMENT_SCAN_H
#define SLWI_ENTRY_DOCUMENT_SCAN_H

#include "buffer.h"

/* Appends the document without its members "inputs" and "toolchain". 0: the text is not compact JSON of one object
   whose members rise, or there was no memory (out->failed); what was appended is then of no use. */
int slwi_entry_document_shorten(slw_bytes text, slwi_buffer *out);

#endif
