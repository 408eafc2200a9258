/* Running a child: argument vector, made environment, own process group, a deadline, captured output, nothing left
 * behind. Tolerates an ignored SIGCHLD (waitpid says ECHILD) and a grandchild that holds the pipe. */
#ifndef SLWI_PROCESS_H
#define SLWI_PROCESS_H

#include "buffer.h"

typedef struct slwi_process {
    const char *program;       /* absolute path */
    const char *const *argv;   /* NULL-terminated */
    const char *const *envp;   /* NULL-terminated, the whole environment */
    const char *directory;     /* working directory */
    uint64_t deadline_ns;      /* monotonic; UINT64_MAX: none */
    slw_cancel *cancel;
    slwi_buffer *output;       /* stdout and stderr together, cut at its limit (not a failure); NULL: thrown away */
} slwi_process;

/* OK: it ran and exited; *exit_status is 0..255, or 128 + signal. TOOL_MISSING: no such program; TIMEOUT, CANCELLED:
   its group was killed; STORAGE, NO_MEMORY: it could not be started. Every start counts in slwi_process_count. */
slw_code slwi_process_run(const slwi_process *process, int *exit_status, slw_error *err);
uint64_t slwi_process_count(void); /* processes started by this library in this process */

#endif
