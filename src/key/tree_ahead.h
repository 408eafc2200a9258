/* Reading the files of a tree before it is walked, two at a time: one message is bound by the latency of the SHA
 * instructions, two side by side are not (decision 0007). For tree.c alone. */
#ifndef SLWI_TREE_AHEAD_H
#define SLWI_TREE_AHEAD_H

#include "identity_gather.h"
#include "memo_tree.h"

/* Puts the regular files below a resolved directory into the gather, as they are now. The walk that follows looks at
   each again and refuses one that has changed; what is not put there, for whatever reason, the walk reads itself and
   says what is wrong with it. So nothing fails here but NO_MEMORY. Afterwards `names` knows those of settled
   directories, as many as it may hold. */
slw_code slwi_tree_read_ahead(slwi_gather *gather, slwi_memo_tree *names, const char *resolved, slw_error *err);

#endif
