/* What a source in C, or in a language on top of it, may say that no dependency list shows. */
#ifndef SLWI_TOOL_SOURCE_H
#define SLWI_TOOL_SOURCE_H

#include <slipway/bytes.h>

/* What a source may say that is not in the key either: "SOURCE …", or NULL. */
const char *slwi_tool_source_reason(slw_bytes text);

#endif
