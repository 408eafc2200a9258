#include "tool_probe.h"

#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "os.h"
#include "tool_run.h"

#define TIMEOUT_NS 30000000000ull
#define OUTPUT_MAX 4194304u

void slwi_tool_probe_init(slwi_tool_probe *probe, const slw_allocator *allocator) {
    memset(probe, 0, sizeof(*probe));
    probe->allocator = allocator;
    slwi_buffer_init(&probe->output, allocator, OUTPUT_MAX);
}

void slwi_tool_probe_free(slwi_tool_probe *probe) {
    slwi_buffer_free(&probe->output);
}

slw_code slwi_tool_probe_ask(slwi_tool_probe *probe, const char *const *arguments, const char *const *more) {
    slwi_tool_list list;
    slwi_tool_list_init(&list, probe->allocator);
    slwi_tool_list_add_words(&list, arguments);
    if (more != NULL) slwi_tool_list_add_words(&list, more);
    slwi_buffer_clear(&probe->output);
    const slwi_tool_run run = {
        .program = probe->program,
        .arguments = &list,
        .path = probe->path,
        .directory = "/",
        .temporary = "/tmp",
        .deadline_ns = slwi_deadline_ns(TIMEOUT_NS, TIMEOUT_NS),
        .cancel = probe->cancel,
        .output = &probe->output,
    };
    slw_code rc = slwi_tool_list_status(&list, probe->err);
    if (rc == SLW_OK) rc = slwi_tool_start(probe->allocator, &run, &probe->status, probe->err);
    /* Output that found no memory is not the driver's answer. */
    if (rc == SLW_OK && probe->output.failed == SLW_E_NO_MEMORY) rc = slwi_fail_memory(probe->err, OUTPUT_MAX);
    slwi_tool_list_free(&list);
    return rc;
}

slw_code slwi_tool_probe_refuse(const slwi_tool_probe *probe, const char *reason, const char *what) {
    slwi_error_path(probe->err, probe->program);
    slwi_error_diagnostics(probe->err, probe->output.data != NULL ? probe->output.data : "", probe->output.size);
    return slwi_fail(probe->err, SLW_E_UNSUPPORTED, reason, "%s", what);
}

/* ---- text ---- */

slwi_tool_lines slwi_tool_probe_lines(const slwi_tool_probe *probe) {
    slwi_tool_lines lines = {probe->output.data != NULL ? probe->output.data : "", NULL};
    lines.end = lines.at + probe->output.size;
    return lines;
}

int slwi_tool_next_line(slwi_tool_lines *lines, slw_bytes *line) {
    if (lines->at == lines->end) return 0;
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    line->data = lines->at;
    line->size = (size_t)((stop != NULL ? stop : lines->end) - lines->at);
    lines->at = stop != NULL ? stop + 1 : lines->end;
    return 1;
}

int slwi_tool_after(slw_bytes line, const char *start, char *out) {
    const size_t size = strlen(start);
    if (line.size < size || memcmp(line.data, start, size) != 0) return 0;
    if (line.size - size + 1 > SLWI_TOOL_PATH_MAX) return 0;
    memcpy(out, (const char *)line.data + size, line.size - size);
    out[line.size - size] = '\0';
    return 1;
}

int slwi_tool_probe_says(const slwi_tool_probe *probe, const char *text) {
    const size_t size = strlen(text);
    const slwi_tool_lines said = slwi_tool_probe_lines(probe);
    for (const char *at = said.at; (size_t)(said.end - at) >= size; at++) {
        if (memcmp(at, text, size) == 0) return 1;
    }
    return 0;
}

void slwi_tool_split_line(slw_bytes line, slwi_tool_list *out) {
    const char *at = line.data;
    const char *end = at + line.size;
    char word[SLWI_TOOL_PATH_MAX];
    while (at < end) {
        size_t size = 0;
        int quoted = 0;
        while (at < end && *at == ' ') at++;
        if (at == end) return;
        for (; at < end && (quoted || *at != ' '); at++) {
            if (*at == '"') {
                quoted = !quoted;
                continue;
            }
            if (*at == '\\' && at + 1 < end) at++;
            if (size + 1 < sizeof(word)) word[size++] = *at;
        }
        slwi_tool_list_add_bytes(out, word, size);
    }
}

/* ---- -E -v ---- */

static void fact(const slwi_tool_probe *probe, slwi_tool_fact kind, const char *text) {
    slwi_tool_list_add_once(&probe->answer->facts[kind], text);
}

void slwi_tool_read_include(const slwi_tool_probe *probe, slw_bytes line, int *inside) {
    char text[SLWI_TOOL_PATH_MAX];
    if (slwi_tool_after(line, "#include <...> search starts here:", text)) {
        *inside = 1;
    } else if (slwi_tool_after(line, "End of search list.", text)) {
        *inside = 0;
    } else if (slwi_tool_after(line, "ignoring nonexistent directory \"", text) && text[0] == '/') {
        char *end = strrchr(text, '"');
        if (end == NULL || end[1] != '\0') return;
        *end = '\0';
        fact(probe, SLWI_TOOL_FACT_INCLUDE, text);
    } else if (*inside && slwi_tool_after(line, " ", text) && text[0] == '/') {
        fact(probe, SLWI_TOOL_FACT_INCLUDE, text);
    }
}

slw_code slwi_tool_read_choice(const slwi_tool_probe *probe, slw_bytes line, slwi_tool_list *configs) {
    char text[SLWI_TOOL_PATH_MAX];
    char parent[SLWI_TOOL_PATH_MAX];
    slw_code rc = SLW_OK;
    if (slwi_tool_after(line, "Reading specs from ", text) || slwi_tool_after(line, "Configuration file: ", text)) {
        if (text[0] == '/') fact(probe, SLWI_TOOL_FACT_FILE, text);
    } else if (slwi_tool_after(line, "InstalledDir: ", text) ||
               slwi_tool_after(line, "System configuration file directory: ", text) ||
               slwi_tool_after(line, "User configuration file directory: ", text)) {
        if (text[0] == '/') slwi_tool_list_add_once(configs, text);
    } else if (slwi_tool_after(line, "Selected GCC installation: ", text) && text[0] == '/') {
        for (int level = 0; level < 2 && rc == SLW_OK; level++) {
            if (!slwi_tool_directory(parent, text)) return SLW_OK;
            rc = slwi_tool_answer_watch(probe->answer, parent, probe->err);
            memcpy(text, parent, sizeof(text));
        }
    }
    return rc;
}

/* ---- what is not there ---- */

void slwi_tool_answer_absent(slwi_tool_answer *answer, const char *directory, const char *name) {
    const slwi_os *os = slwi_os_get();
    char path[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    if (directory[0] != '/' || !slwi_tool_join(path, directory, name)) return;
    if (os->fstatat(os, AT_FDCWD, path, 0, &stat) < 0)
        slwi_tool_list_add_once(&answer->facts[SLWI_TOOL_FACT_ABSENT], path);
}
