/* Where a stage runs. Everything but the outputs lives in a directory of its own inside the build's, which is gone
 * before the stage ends: what stays in the build directory is published. */
#ifndef SLWI_TOOL_WORK_H
#define SLWI_TOOL_WORK_H

#include <slipway/sys/backend_impl.h>

#include "tool_run.h"

#define SLWI_TOOL_WORK_NAME ".slipway-work"

typedef struct slwi_tool_work {
    const slw_allocator *allocator;
    const slw_stage_context *context;
    slw_error *err;
    int build_fd;                       /* the build directory */
    int work_fd;                        /* -1: not open */
    int root_fd;                        /* the caller's directory for temporary files; -1: inside the working one */
    char private_name[40];              /* of ours in it; "": none was made */
    char work[SLWI_TOOL_PATH_MAX];      /* the working directory's path, as given */
    char real_work[SLWI_TOOL_PATH_MAX]; /* and as the compiler will say it */
    char temporary[SLWI_TOOL_PATH_MAX]; /* TMPDIR of the children */
} slwi_tool_work;

/* Runs `body` with the build directory open and, with `needs_work`, the working directory made; removes that one
   whatever the body says. The record is 12 KiB: it is allocated. */
typedef slw_code (*slwi_tool_work_body)(slwi_tool_work *work, void *context);
slw_code slwi_tool_work_do(const slw_allocator *allocator, const slw_stage_context *context, int needs_work,
                           slwi_tool_work_body body, void *body_context, slw_error *err);

/* In the working directory. */
slw_code slwi_tool_work_make_directory(slwi_tool_work *work, const char *name);
slw_code slwi_tool_work_write(slwi_tool_work *work, const char *name, slw_bytes bytes);
/* The same with a time of its own: compilers show a source's (__TIMESTAMP__, line tables). */
slw_code slwi_tool_work_write_source(slwi_tool_work *work, const char *name, slw_bytes bytes);
/* Reads a compiler's list of what it read, as for make. COMPILE_FAILED (DEPENDENCIES) for what is no such list. */
slw_code slwi_tool_work_dependencies(slwi_tool_work *work, const char *name, slwi_tool_list *out);

/* Starts a program there, to the stage's deadline. COMPILE_FAILED (COMPILER) with its words in the diagnostics, where
   `source_file`, what the source is called there, is `name` again; path, line and column of the first error that
   names them. */
typedef struct slwi_tool_command {
    const char *program;
    const char *path;                /* PATH of the child */
    const slwi_tool_list *variables; /* NULL: none */
    const slwi_tool_list *arguments;
    const char *source_file, *name;
} slwi_tool_command;
slw_code slwi_tool_work_run(slwi_tool_work *work, const slwi_tool_command *command);

/* In the build directory. The mode is ours, not the umask's; COMPILE_FAILED (NO_OUTPUT) for a tool that made
   nothing. */
slw_code slwi_tool_work_finish(slwi_tool_work *work, const char *name, uint32_t mode);
/* What stands in for a stage's output. */
slw_code slwi_tool_work_replace(slwi_tool_work *work, const char *name, slw_bytes bytes, uint32_t mode);

#endif
