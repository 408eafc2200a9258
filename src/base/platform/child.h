/* What happens in a child between fork and exec. */
#ifndef SLWI_CHILD_H
#define SLWI_CHILD_H

/* All a child needs, ready-made: it may neither allocate nor lock. */
typedef struct slwi_child {
    const char *program;
    char *const *argv;
    char *const *envp;
    const char *directory;
    int output_fd;      /* above 9, or -1 for /dev/null */
    int report_fd;      /* above 9; closed by the exec, else gets an errno */
    int descriptor_max; /* for systems without close_range */
} slwi_child;

/* In the child of a vfork or fork: own group, streams, directory, signals, descriptors, exec. */
_Noreturn void slwi_child_run(const slwi_child *plan);
#ifdef __linux__
/* In a child without exit signal: leads the group, starts the real child, waits for it and ends as that did. */
_Noreturn void slwi_child_help(const slwi_child *plan);
#endif

#endif
