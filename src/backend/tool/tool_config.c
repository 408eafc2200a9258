#include "tool_config.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "tool_answer.h"

#define DRIVER_BYTES_MAX ((size_t)256 << 20)

int slwi_tool_is_config(const char *path) {
    const size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".cfg") == 0;
}

int slwi_tool_is_specs(const char *path) {
    return strcmp(slwi_tool_base_name(path), "specs") == 0;
}

static slw_code reject(slw_identity *identity, const char *component, const char *path, const char *what,
                       const char *why, slw_error *err) {
    char text[512];
    (void)snprintf(text, sizeof(text), "%.200s%s%.200s", path, what, why);
    return slw_identity_reject(identity, component, text, err);
}

/* ---- clang ---- */

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

static size_t break_size(const char *at, const char *end) {
    if (at < end && *at == '\n') return 1;
    return end - at > 1 && at[0] == '\r' && at[1] == '\n' ? 2 : 0;
}

/* With quotes and backslashes clang's words may be others than these, and a word with '@' in front is a file of more,
   also where it seems the value of an option. */
static void judge_words(const slwi_tool_list *words, char *why) {
    for (size_t i = 0; i < words->count; i++) {
        if (strpbrk(words->items[i], "@\"'\\") == NULL) continue;
        (void)snprintf(why, SLWI_TOOL_CONFIG_WHY_MAX, "%.200s", words->items[i]);
        return;
    }
}

/* clang knows comments only as whole lines, and not where the line before goes on: any other word with '#' in front
   stays, and is no option. */
void slwi_tool_config_split(slw_bytes text, slwi_tool_list *out) {
    const char *at = text.data;
    const char *end = at + text.size;
    int fresh = 1; /* at the start of a line that continues none */
    while (at < end) {
        if (is_blank(*at)) {
            if (*at == '\n') fresh = 1;
            at++;
        } else if (fresh && *at == '#') {
            while (at < end && *at != '\n') at++;
        } else {
            const char *start = at;
            while (at < end && !is_blank(*at)) at++;
            const size_t size = (size_t)(at - start);
            const size_t line_end = break_size(at, end);
            fresh = 0;
            if (size == 1 && *start == '\\' && line_end != 0) {
                at += line_end;
            } else {
                slwi_tool_list_add_bytes(out, start, size);
            }
        }
    }
}

slw_code slwi_tool_config_check(slw_identity *identity, const char *component, const char *path,
                                const slw_allocator *allocator, slwi_tool_config_judge judge, slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slwi_buffer text;
    slwi_tool_list words;
    char why[SLWI_TOOL_CONFIG_WHY_MAX] = "";
    slwi_buffer_init(&text, allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    slwi_tool_list_init(&words, allocator);
    slw_code rc = slwi_read_file(path, &text, &local);
    if (rc == SLW_OK) {
        slwi_tool_config_split((slw_bytes){text.data != NULL ? text.data : "", text.size}, &words);
        rc = slwi_tool_list_status(&words, &local);
    }
    if (rc == SLW_OK) judge_words(&words, why);
    if (rc == SLW_OK && why[0] == '\0') rc = judge(&words, allocator, why, &local);
    slwi_buffer_free(&text);
    slwi_tool_list_free(&words);
    if (rc == SLW_E_NO_MEMORY) return slwi_fail(err, rc, NULL, "no memory for the configuration of the compiler");
    if (rc != SLW_OK) return reject(identity, component, path, ": ", local.message, err);
    return why[0] != '\0' ? reject(identity, component, path, " says what may reach outside the key: ", why, err)
                          : SLW_OK;
}

/* ---- gcc ---- */

static int starts(slw_bytes text, const char *start) {
    const size_t size = strlen(start);
    return text.size >= size && memcmp(text.data, start, size) == 0;
}

static slw_bytes skip(slw_bytes text, size_t size) {
    return (slw_bytes){(const char *)text.data + size, text.size - size};
}

/* 1 when the program holds the text; with `whole` as a string of its own, from NUL to NUL. */
static int holds(slw_bytes program, slw_bytes text, int whole) {
    const char *first = program.data;
    const char *text_first = text.data;
    const char *end = first + program.size;
    const char *at = first;
    while ((size_t)(end - at) >= text.size) {
        at = memchr(at, text_first[0], (size_t)(end - at) - text.size + 1);
        if (at == NULL) return 0;
        if (memcmp(at, text.data, text.size) == 0 &&
            (!whole || (at > first && at[-1] == '\0' && at + text.size < end && at[text.size] == '\0')))
            return 1;
        at++;
    }
    return 0;
}

/* gcc puts this text together when it starts, of these. */
static int is_libgcc(slw_bytes text) {
    static const char *const parts[] = {
        "static",  "static-libgcc", "static-pie",   "shared",      "shared-libgcc", "-lgcc",          "-lgcc_eh",
        "-lgcc_s", "-lunwind",      "--push-state", "--pop-state", "--as-needed",   "--no-as-needed",
    };
    static const char marks[] = " %{}|!:";
    const char *at = text.data;
    const char *end = at + text.size;
    while (at < end) {
        const char *start = at;
        while (at < end && (*at == '\0' || strchr(marks, *at) == NULL)) at++;
        const size_t size = (size_t)(at - start);
        int known = size == 0;
        for (size_t i = 0; !known && i < sizeof(parts) / sizeof(*parts); i++)
            known = strlen(parts[i]) == size && memcmp(parts[i], start, size) == 0;
        if (!known) return 0;
        if (at < end) at++;
    }
    return 1;
}

/* "32:../lib32 m32;64:../lib m64;" is put together from the driver's texts as well. */
static int is_multilib(slw_bytes program, slw_bytes text) {
    while (text.size != 0) {
        const char *stop = memchr(text.data, ';', text.size);
        if (stop == NULL) return 0;
        const size_t size = (size_t)(stop - (const char *)text.data) + 1;
        if (!holds(program, (slw_bytes){text.data, size}, 1)) return 0;
        text = skip(text, size);
    }
    return 1;
}

/* "m64": names of options, which are compared only. */
static int is_names(slw_bytes text) {
    const char *at = text.data;
    for (size_t i = 0; i < text.size; i++) {
        if (!(at[i] >= 'a' && at[i] <= 'z') && !(at[i] >= '0' && at[i] <= '9') && strchr("-= ", at[i]) == NULL)
            return 0;
        if (at[i] == '\0') return 0;
    }
    return 1;
}

static int is_drivers_own(slw_bytes program, slw_bytes name, slw_bytes text) {
    /* What gcc puts before its text for the linker when it starts. */
    static const char *const before[] = {"%{!r:--build-id} ", "%{!static:--eh-frame-hdr} ",
                                         "%{!static|static-pie:--eh-frame-hdr} "};
    if (text.size == 0 || holds(program, text, 1)) return 1;
    if (starts(name, "libgcc:")) return is_libgcc(text);
    if (starts(name, "multilib:") || starts(name, "multilib_matches:")) return is_multilib(program, text);
    if (starts(name, "multilib_defaults:")) return is_names(text);
    if (!starts(name, "link:")) return 0;
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        if (starts(text, before[i])) text = skip(text, strlen(before[i]));
    }
    return text.size == 0 || holds(program, text, 1);
}

static size_t line_size(slw_bytes text) {
    const char *stop = memchr(text.data, '\n', text.size);
    return stop != NULL ? (size_t)(stop - (const char *)text.data) : text.size;
}

/* "*name:", a text to the next empty line, and so on; says in `why` what is something else. */
static void judge_specs(slw_bytes specs, slw_bytes program, char *why) {
    while (specs.size != 0) {
        if (starts(specs, "\n")) {
            specs = skip(specs, 1);
            continue;
        }
        const slw_bytes head = {specs.data, line_size(specs)};
        (void)snprintf(why, SLWI_TOOL_CONFIG_WHY_MAX, "%.*s", head.size < 100 ? (int)head.size : 100,
                       (const char *)head.data);
        if (head.size < 3 || !starts(head, "*") || ((const char *)head.data)[head.size - 1] != ':') return;
        specs = skip(specs, head.size + (head.size < specs.size));
        slw_bytes text = {specs.data, 0};
        while (text.size < specs.size && !starts(skip(specs, text.size), "\n\n")) text.size++;
        specs = skip(specs, text.size);
        /* An empty text begins with the line break that ends it. */
        while (text.size != 0 && ((const char *)text.data)[text.size - 1] == '\n') text.size--;
        if (starts(text, "\n") || !is_drivers_own(program, skip(head, 1), text)) return;
    }
    why[0] = '\0';
}

slw_code slwi_tool_specs_check(slw_identity *identity, const char *component, const char *path, const char *driver,
                               const slw_allocator *allocator, slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slwi_buffer text;
    slwi_buffer program;
    char why[SLWI_TOOL_CONFIG_WHY_MAX] = "";
    slwi_buffer_init(&text, allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    slwi_buffer_init(&program, allocator, DRIVER_BYTES_MAX);
    slw_code rc = slwi_read_file(path, &text, &local);
    if (rc == SLW_OK) rc = slwi_read_file(driver, &program, &local);
    if (rc == SLW_OK && text.size != 0)
        judge_specs((slw_bytes){text.data, text.size},
                    (slw_bytes){program.data != NULL ? program.data : "", program.size}, why);
    slwi_buffer_free(&text);
    slwi_buffer_free(&program);
    if (rc == SLW_E_NO_MEMORY) return slwi_fail(err, rc, NULL, "no memory for the specs of the compiler");
    if (rc != SLW_OK) return reject(identity, component, path, ": ", local.message, err);
    return why[0] != '\0' ? reject(identity, component, path, " says what may reach outside the key: ", why, err)
                          : SLW_OK;
}
