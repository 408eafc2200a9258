#include "tool_run.h"

#include <string.h>

#include "fail.h"
#include "memory.h"
#include "process.h"
#include "tool_find.h"

/* 1 when a PATH-like text holds this directory. */
static int path_has(const slwi_buffer *path, const char *directory) {
    const size_t size = strlen(directory);
    for (size_t at = 0; at < path->size;) {
        const char *start = path->data + at;
        const char *stop = memchr(start, ':', path->size - at);
        const size_t length = stop != NULL ? (size_t)(stop - start) : path->size - at;
        if (length == size && memcmp(start, directory, size) == 0) return 1;
        at += length + 1;
    }
    return 0;
}

static void append_directory(slwi_buffer *path, const char *directory) {
    if (path_has(path, directory)) return;
    if (path->size > 0) slwi_buffer_append_char(path, ':');
    slwi_buffer_append_text(path, directory);
}

slw_code slwi_tool_make_path(const slw_allocator *allocator, const char *program, const char *const *more, char **out,
                             slw_error *err) {
    char directory[SLWI_TOOL_PATH_MAX];
    const char *rest = slwi_tool_system_path;
    slwi_buffer path;
    if (!slwi_tool_directory(directory, program))
        return slwi_fail(err, SLW_E_LIMIT, NULL, "the compiler's path is too long");
    slwi_buffer_init(&path, allocator, (size_t)4 * SLWI_TOOL_PATH_MAX);
    append_directory(&path, directory);
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) append_directory(&path, more[i]);
    while (slwi_tool_next_directory(&rest, directory)) append_directory(&path, directory);
    slw_code rc = slwi_buffer_status(&path, err);
    if (rc == SLW_OK) {
        *out = slwi_strndup(allocator, path.data, path.size);
        if (*out == NULL) rc = slwi_fail_memory(err, path.size);
    }
    slwi_buffer_free(&path);
    return rc;
}

void slwi_tool_environment(const char *path, const char *temporary, slwi_tool_list *out) {
    slwi_tool_list_add_format(out, "PATH=%s", path);
    slwi_tool_list_add(out, "LC_ALL=C");
    slwi_tool_list_add(out, "SOURCE_DATE_EPOCH=" SLWI_TOOL_SOURCE_DATE_EPOCH);
    slwi_tool_list_add_format(out, "TMPDIR=%s", temporary);
}

slw_code slwi_tool_start(const slw_allocator *allocator, const slwi_tool_run *run, int *exit_status, slw_error *err) {
    slwi_tool_list argv;
    slwi_tool_list envp;
    slwi_process process;
    slwi_tool_list_init(&argv, allocator);
    slwi_tool_list_init(&envp, allocator);
    slwi_tool_list_add(&argv, run->program);
    slwi_tool_list_add_all(&argv, run->arguments);
    slwi_tool_environment(run->path, run->temporary, &envp);
    if (run->variables != NULL) slwi_tool_list_add_all(&envp, run->variables);
    slw_code rc = slwi_tool_list_status(&argv, err);
    if (rc == SLW_OK) rc = slwi_tool_list_status(&envp, err);
    if (rc == SLW_OK) {
        memset(&process, 0, sizeof(process));
        process.program = run->program;
        process.argv = (const char *const *)argv.items;
        process.envp = (const char *const *)envp.items;
        process.directory = run->directory;
        process.deadline_ns = run->deadline_ns;
        process.cancel = run->cancel;
        process.output = run->output;
        rc = slwi_process_run(&process, exit_status, err);
    }
    slwi_tool_list_free(&argv);
    slwi_tool_list_free(&envp);
    return rc;
}
