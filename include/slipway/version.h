/* The one source of the version: build.zig.zon, the shared library's number and the command are checked against it. */
#ifndef SLIPWAY_VERSION_H
#define SLIPWAY_VERSION_H

#include <slipway/attributes.h>

#define SLW_VERSION_MAJOR 0
#define SLW_VERSION_MINOR 1
#define SLW_VERSION_PATCH 0
#define SLW_VERSION_TEXT  "0.1.0"

SLW_BEGIN_DECLS

/* The version of the library that was linked, as SLW_VERSION_TEXT. Static storage. */
SLW_API const char *slw_version(void);

SLW_END_DECLS
#endif
