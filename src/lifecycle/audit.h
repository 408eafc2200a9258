/* Audits: a hit is built once more, privately, and compared with what the store holds. */
#ifndef SLWI_AUDIT_H
#define SLWI_AUDIT_H

#include "compile_state.h"

/* For a request that was a hit: draws, where the caller did not ask for an audit, whether there is one; builds,
   compares, sends the event, and removes what it built. Never fails. Called with no lock held. Returns how long it
   took: 0 where there was none. */
uint64_t slwi_audit(const slwi_request *request, slwi_entry *entry);

/* Whether a random number stands for an audit: of a million even ones so many. */
int slwi_audit_drawn(uint32_t random, uint32_t audits_per_million);

#endif
