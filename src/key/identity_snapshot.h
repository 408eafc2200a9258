/* "Did anything change?": everything a gathering has looked at, asked again by stat. For identity*.c alone. */
#ifndef SLWI_IDENTITY_SNAPSHOT_H
#define SLWI_IDENTITY_SNAPSHOT_H

#include "identity_gather.h"

/* The path of the first thing that is not as it was; NULL: nothing changed. Reads no content. */
const char *slwi_snapshot_changed(const slwi_gather *gather);

#endif
