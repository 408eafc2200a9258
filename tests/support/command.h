/* Running the slipway command in tests, and reading what it printed. */
#ifndef SLT_COMMAND_H
#define SLT_COMMAND_H

#include "slt.h"

#include <json-c/json.h>

/* The command under test: main's argv[1]. */
void command_use(int argc, char **argv);
extern const char *command_path; /* absolute */

typedef struct command_result {
    int status;               /* exit status, or 128 + signal */
    char *out, *err;          /* NUL-terminated */
    struct json_object *json; /* standard output, when it is one JSON document and nothing else; else NULL */
} command_result;

/* Runs `slipway ARGUMENTS` through /bin/sh, in an environment without any SLIPWAY_ or XDG_ variable, with HOME=home
   (NULL: unset) and PATH as it is. */
command_result command_run(const char *home, const char *format, ...) SLW_PRINTF(2, 3);
void command_free(command_result *result);

/* Walks "a.b.2.c" through objects and arrays; fails the test when it is not there (a null is there). */
struct json_object *command_at(struct json_object *json, const char *path);
const char *command_text(struct json_object *json, const char *path); /* NULL for null */
int64_t command_int(struct json_object *json, const char *path);

#endif
