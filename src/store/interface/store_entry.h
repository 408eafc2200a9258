/* What the store gives to lifecycle: entries. Nothing else of the store is visible there. */
#ifndef SLWI_STORE_ENTRY_H
#define SLWI_STORE_ENTRY_H

#include <slipway/phases.h>

#include "file.h"
#include "ref.h"

/* A validated entry or a usable private build. Counted (slwi_retain, slwi_release); immutable but for payloads read on
   demand, so it may be shared by threads. Holds no descriptor; outlives its store. The last release of a private build
   removes its directory, unless it is kept or the report still owns it. */
typedef struct slwi_entry slwi_entry;

/* The bodies of slw_store_lookup and slw_store_get_or_build, without the event. Arguments are checked here. */
slw_code slwi_store_lookup(slw_store *store, const slw_key *key, const slw_spec *spec, slwi_entry **out,
                           slw_error *err);
slw_code slwi_store_get_or_build(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder,
                                 slw_build_report *report, slwi_entry **out, slw_error *err);
/* Always builds, never looks up, publishes nothing, not coalesced. key may be NULL. The report's reason is `reason`. */
slw_code slwi_store_build_private(slw_store *store, const slw_key *key, const slw_spec *spec,
                                  const slw_builder *builder, const char *reason, slw_build_report *report,
                                  slwi_entry **out, slw_error *err);

const slw_key *slwi_entry_key(const slwi_entry *entry); /* NULL for a build without identity */
const slw_spec *slwi_entry_spec(const slwi_entry *entry);
size_t slwi_entry_file_count(const slwi_entry *entry);
int slwi_entry_file(const slwi_entry *entry, size_t index, slw_file *out); /* sorted; 0 past the end */
int slwi_entry_find(const slwi_entry *entry, const char *name, slw_file *out); /* binary search; 0: none */
uint64_t slwi_entry_size_bytes(const slwi_entry *entry);
int slwi_entry_is_private(const slwi_entry *entry);
const char *slwi_entry_directory(const slwi_entry *entry);
const slw_allocator *slwi_entry_allocator(const slwi_entry *entry);
slwi_ref *slwi_entry_metrics(const slwi_entry *entry); /* the store's, NULL when it has none; borrowed */
size_t slwi_entry_overhead_bytes(const slwi_entry *entry); /* heap, without payloads */

/* The verified bytes of a payload in sealed memory; the caller releases the image. A payload the lookup kept costs
   nothing. MISS: no such name. INVALID_ENTRY: other bytes stand in the judged slot. GONE: the slot is absent or another
   one. STORAGE. */
slw_code slwi_entry_read(slwi_entry *entry, const char *name, slwi_image **out, slw_error *err);
slw_code slwi_entry_materialize(const slwi_entry *entry, const char *destination, slw_error *err);

const slw_allocator *slwi_store_allocator(const slw_store *store);
const char *slwi_store_domain(const slw_store *store);
slwi_ref *slwi_store_metrics(const slw_store *store); /* borrowed; NULL: none */
uint64_t slwi_store_build_timeout_ns(const slw_store *store);
slw_cancel *slwi_store_cancel(const slw_store *store);
slw_store *slwi_store_retain(slw_store *store); /* dropped with slw_store_close */

#endif
