/* Looking for programs: names in PATH-like lists, starting nothing and remembering nothing. */
#ifndef SLWI_TOOL_FIND_H
#define SLWI_TOOL_FIND_H

#include "tool_list.h"

/* The system's directories, where a program is looked for last. */
extern const char slwi_tool_system_path[];

/* What is looked for. */
typedef struct slwi_tool_wanted {
    const char *what;         /* "C compiler", for messages */
    const char *const *names; /* NULL-terminated, the best first */
    const char *const *more;  /* directories after the caller's path and before the system's; NULL: none */
    const char *hint;         /* how to get it, or how to name it */
} slwi_tool_wanted;

/* `program` is a path, a name, or NULL for the names of `wanted`: all of them in the caller's path (PATH-like, may be
   NULL), then all in `more`, then all in the system's, since what the caller put first is meant. `found` is as the
   search met it and `resolved` has every link followed; both have SLWI_TOOL_PATH_MAX bytes. TOOL_MISSING
   (NO_COMPILER) lists the places in `tried`; USAGE (EMPTY). */
slw_code slwi_tool_find(const slwi_tool_wanted *wanted, const char *program, const char *search_path, char *found,
                        char *resolved, slw_error *err);
/* The first regular, executable file `name` in a PATH-like list; relative and empty entries are passed over. */
int slwi_tool_find_in_path(const char *path, const char *name, char *out);
int slwi_tool_is_program(const char *path);
/* One directory of a PATH-like list at *at, into out[SLWI_TOOL_PATH_MAX]: 1, or 0 at the end. Entries that are not
   absolute are passed over: what they mean changes with the working directory. */
int slwi_tool_next_directory(const char **at, char *out);

#endif
