#include "command.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char *command_path = NULL;

void command_use(int argc, char **argv) {
    static char path[PATH_MAX];
    if (argc < 2 || realpath(argv[1], path) == NULL) {
        fprintf(stderr, "the first argument is the slipway command\n");
        exit(2);
    }
    command_path = path;
}

/* The document when the text is exactly one; json-c accepts trailing text, so its end is looked at. */
static struct json_object *whole_document(const char *text) {
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *json = json_tokener_parse_ex(tokener, text, (int)strlen(text));
    const size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (json != NULL && strspn(text + end, " \n") != strlen(text + end)) {
        json_object_put(json);
        json = NULL;
    }
    return json;
}

command_result command_run(const char *home, const char *format, ...) {
    char arguments[16384], line[24000];
    const char *scratch = slt_scratch();
    va_list rest;
    va_start(rest, format);
    vsnprintf(arguments, sizeof arguments, format, rest);
    va_end(rest);
    const int used = snprintf(line, sizeof line,
                              "unset SLIPWAY_CACHE_DIR SLIPWAY_CC XDG_CACHE_HOME; %s%s%s; '%s' %s >%s/out 2>%s/err",
                              home ? "HOME='" : "unset HOME", home ? home : "", home ? "' export HOME" : "",
                              command_path, arguments, scratch, scratch);
    ck_assert_int_lt(used, (int)sizeof line);
    const int status = system(line);
    command_result result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = slt_read_file(slt_path(scratch, "out", NULL), NULL);
    result.err = slt_read_file(slt_path(scratch, "err", NULL), NULL);
    result.json = whole_document(result.out);
    return result;
}

void command_free(command_result *result) {
    free(result->out);
    free(result->err);
    json_object_put(result->json);
    memset(result, 0, sizeof *result);
}

struct json_object *command_at(struct json_object *json, const char *path) {
    char copy[512], *save = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *part = strtok_r(copy, ".", &save); part != NULL; part = strtok_r(NULL, ".", &save)) {
        struct json_object *next = NULL;
        ck_assert_msg(json != NULL, "%s: nothing at %s", path, part);
        if (json_object_is_type(json, json_type_array)) {
            const size_t index = strtoul(part, NULL, 10);
            ck_assert_msg(index < json_object_array_length(json), "%s: no item %s", path, part);
            next = json_object_array_get_idx(json, index);
        } else {
            ck_assert_msg(json_object_object_get_ex(json, part, &next), "%s: no member %s in %s", path, part,
                          json_object_to_json_string(json));
        }
        json = next;
    }
    return json;
}

const char *command_text(struct json_object *json, const char *path) {
    struct json_object *at = command_at(json, path);
    ck_assert_msg(at == NULL || json_object_is_type(at, json_type_string), "%s is no text", path);
    return at != NULL ? json_object_get_string(at) : NULL;
}

int64_t command_int(struct json_object *json, const char *path) {
    struct json_object *at = command_at(json, path);
    ck_assert_msg(json_object_is_type(at, json_type_int), "%s is no integer", path);
    return json_object_get_int64(at);
}
