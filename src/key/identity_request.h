/* For those who compile: one identity serves many requests, and what slw_identity_digest_tree saw belongs to one of them.
 *
 * slw_identity_recheck looks at the components' files and at the trees that the calling thread has had digested (at all
 * trees, when this thread had none digested). A tree that is digested again replaces what was remembered of it. So call this
 * when a request begins: else a root that an earlier request of this thread named, and that has changed since, makes the
 * next recheck fail once. Threads: any. */
#ifndef SLWI_IDENTITY_REQUEST_H
#define SLWI_IDENTITY_REQUEST_H

#include <slipway/identity.h>

void slwi_identity_forget_trees(slw_identity *identity);

#endif
