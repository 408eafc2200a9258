/* Forks: who is a child, and which descriptors a child must not keep (pitfalls 17 and 18). */
#ifndef SLWI_FORK_H
#define SLWI_FORK_H

#include <stdint.h>

/* A number that differs in every forked child. Objects store it at creation; a difference means "belongs to the
   parent". MADV_WIPEONFORK where there is one, pthread_atfork elsewhere; never the pid. Cheap: one load. */
uint64_t slwi_fork_generation(void);

/* Descriptors closed in a forked child (locks, staging). Fixed table, SLW_LIMIT_HELD_LOCKS; 0, or -EMFILE when full.
   Registering is async-signal- and fork-safe. */
int slwi_fork_register(int fd);
void slwi_fork_unregister(int fd); /* before close */

/* Called in the child, once per fork, with nothing held: for resetting process-wide tables. At most 8, at start-up.
   `prepare` and `parent` may be NULL: they hold and release the owner's global mutex across the fork. */
int slwi_fork_hook(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif
