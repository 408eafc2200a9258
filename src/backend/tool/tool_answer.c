#include "tool_answer.h"

#include <fcntl.h>
#include <slipway/key.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "heap_sort.h"
#include "memory.h"
#include "os.h"

#define FIRST_LINE "slipway-tool-answer 1"

static const char *const fact_names[SLWI_TOOL_FACT_COUNT] = {
    "program", "plugin", "file", "include", "directory", "library", "sysroot", "absent", "listing", "target", "note",
};
static const char *const family_names[] = {"unknown", "gcc", "clang", "other"};

void slwi_tool_answer_init(slwi_tool_answer *answer, const slw_allocator *allocator) {
    answer->family = SLWI_TOOL_UNKNOWN;
    slwi_tool_list_init(&answer->text, allocator);
    for (int i = 0; i < SLWI_TOOL_FACT_COUNT; i++) slwi_tool_list_init(&answer->facts[i], allocator);
}

void slwi_tool_answer_free(slwi_tool_answer *answer) {
    slwi_tool_list_free(&answer->text);
    for (int i = 0; i < SLWI_TOOL_FACT_COUNT; i++) slwi_tool_list_free(&answer->facts[i]);
}

slw_code slwi_tool_answer_status(const slwi_tool_answer *answer, slw_error *err) {
    slw_code rc = slwi_tool_list_status(&answer->text, err);
    for (int i = 0; i < SLWI_TOOL_FACT_COUNT && rc == SLW_OK; i++) rc = slwi_tool_list_status(&answer->facts[i], err);
    return rc;
}

const char *slwi_tool_answer_version(const slwi_tool_answer *answer) {
    return answer->text.count > 0 ? answer->text.items[0] : "";
}

const char *slwi_tool_answer_triple(const slwi_tool_answer *answer) {
    return answer->text.count > 1 ? answer->text.items[1] : "";
}

/* ---- text ---- */

static int write_line(slwi_buffer *out, const char *name, const char *value) {
    if (strchr(value, '\n') != NULL) return 0;
    slwi_buffer_append_text(out, name);
    slwi_buffer_append_char(out, ' ');
    slwi_buffer_append_text(out, value);
    slwi_buffer_append_char(out, '\n');
    return 1;
}

int slwi_tool_answer_write(const slwi_tool_answer *answer, const slw_digest *proof, slwi_buffer *out) {
    char digest[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(proof, digest);
    slwi_buffer_append_text(out, FIRST_LINE "\n");
    int good = write_line(out, "proof", digest) && write_line(out, "family", family_names[answer->family]) &&
               write_line(out, "version", slwi_tool_answer_version(answer)) &&
               write_line(out, "triple", slwi_tool_answer_triple(answer));
    for (int kind = 0; kind < SLWI_TOOL_FACT_COUNT; kind++) {
        const slwi_tool_list *list = &answer->facts[kind];
        for (size_t i = 0; good && i < list->count; i++) good = write_line(out, fact_names[kind], list->items[i]);
    }
    return good && !out->failed;
}

typedef struct lines {
    const char *at;
    const char *end;
} lines;

/* The next line, without its end; every line must have one. */
static int next_line(lines *text, slw_bytes *out) {
    if (text->at == text->end) return 0;
    const char *stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
    if (stop == NULL) return 0;
    out->data = text->at;
    out->size = (size_t)(stop - text->at);
    text->at = stop + 1;
    return 1;
}

/* What follows "name " in a line: 1, or 0 for another line. */
static int value_of(slw_bytes line, const char *name, slw_bytes *value) {
    size_t size = strlen(name);
    if (line.size <= size || memcmp(line.data, name, size) != 0 || ((const char *)line.data)[size] != ' ') return 0;
    value->data = (const char *)line.data + size + 1;
    value->size = line.size - size - 1;
    return 1;
}

static int read_head(lines *text, slwi_tool_answer *answer, slw_digest *proof) {
    slw_bytes line;
    slw_bytes value;
    if (!next_line(text, &line) || line.size != strlen(FIRST_LINE) || memcmp(line.data, FIRST_LINE, line.size) != 0)
        return 0;
    if (!next_line(text, &line) || !value_of(line, "proof", &value)) return 0;
    if (slw_digest_parse(value.data, value.size, proof, NULL) != SLW_OK) return 0;
    if (!next_line(text, &line) || !value_of(line, "family", &value)) return 0;
    for (int i = SLWI_TOOL_GCC; i <= SLWI_TOOL_OTHER; i++) {
        if (value.size == strlen(family_names[i]) && memcmp(value.data, family_names[i], value.size) == 0) {
            answer->family = (slwi_tool_family)i;
        }
    }
    if (answer->family == SLWI_TOOL_UNKNOWN) return 0;
    if (!next_line(text, &line) || !value_of(line, "version", &value)) return 0;
    slwi_tool_list_add_bytes(&answer->text, value.data, value.size);
    if (!next_line(text, &line) || !value_of(line, "triple", &value)) return 0;
    slwi_tool_list_add_bytes(&answer->text, value.data, value.size);
    return 1;
}

int slwi_tool_answer_read(slw_bytes bytes, slwi_tool_answer *answer, slw_digest *proof) {
    lines text = {bytes.data, (const char *)bytes.data + bytes.size};
    slw_bytes line;
    slw_bytes value;
    if (bytes.size > SLWI_TOOL_ANSWER_BYTES_MAX || memchr(bytes.data, 0, bytes.size) != NULL) return 0;
    if (!read_head(&text, answer, proof)) return 0;
    int kind = 0;
    while (text.at != text.end) {
        if (!next_line(&text, &line)) return 0;
        while (kind < SLWI_TOOL_FACT_COUNT && !value_of(line, fact_names[kind], &value)) kind++;
        if (kind == SLWI_TOOL_FACT_COUNT) return 0;
        slwi_tool_list_add_bytes(&answer->facts[kind], value.data, value.size);
    }
    return slwi_tool_answer_status(answer, NULL) == SLW_OK;
}

/* ---- does it still hold? ---- */

static int by_text(const void *a, const void *b) {
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

slw_code slwi_tool_listing_digest(const slw_allocator *allocator, const char *directory, slw_digest *out,
                                  slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_tool_list names;
    slwi_buffer text;
    slwi_stat stat;
    slwi_tool_list_init(&names, allocator);
    slwi_buffer_init(&text, allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    int fd = slwi_open_directory(os, AT_FDCWD, directory, 1, &stat);
    int status = fd;
    if (fd >= 0) {
        slwi_dir dir;
        slwi_dirent entry;
        memset(&dir, 0, sizeof(dir));
        dir.fd = fd;
        while ((status = os->readdir(os, &dir, &entry)) == 1) slwi_tool_list_add(&names, entry.name);
        os->closedir(os, &dir);
        (void)os->close(os, fd);
    }
    slwi_buffer_append_text(&text, status < 0 ? "unreadable\n" : "names\n");
    if (names.count != 0) slwi_heap_sort(names.items, names.count, sizeof(void *), by_text);
    for (size_t i = 0; i < names.count; i++) {
        slwi_buffer_append(&text, names.items[i], strlen(names.items[i]) + 1); /* with the NUL: no name holds one */
    }
    slw_code rc = slwi_tool_list_status(&names, err);
    if (rc == SLW_OK) rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) slw_sha256((slw_bytes){text.data, text.size}, out);
    slwi_buffer_free(&text);
    slwi_tool_list_free(&names);
    return rc;
}

slw_code slwi_tool_answer_watch(slwi_tool_answer *answer, const char *directory, slw_error *err) {
    slwi_tool_list *list = &answer->facts[SLWI_TOOL_FACT_LISTING];
    slw_digest digest;
    char text[SLW_DIGEST_TEXT_SIZE];
    slw_code rc = slwi_tool_listing_digest(list->allocator, directory, &digest, err);
    if (rc != SLW_OK) return rc;
    slw_digest_format(&digest, text);
    slwi_tool_list_add_format(list, "%s %s", text, directory);
    return slwi_tool_list_status(list, err);
}

static int listing_holds(const char *fact, const slw_allocator *allocator) {
    slw_digest then;
    slw_digest now;
    if (strlen(fact) < SLW_DIGEST_TEXT_SIZE + 1 || fact[SLW_DIGEST_TEXT_SIZE - 1] != ' ') return 0;
    if (slw_digest_parse(fact, SLW_DIGEST_TEXT_SIZE - 1, &then, NULL) != SLW_OK) return 0;
    if (slwi_tool_listing_digest(allocator, fact + SLW_DIGEST_TEXT_SIZE, &now, NULL) != SLW_OK) return 0;
    return memcmp(&then, &now, sizeof(now)) == 0;
}

int slwi_tool_answer_holds(const slwi_tool_answer *answer, const slw_allocator *allocator) {
    const slwi_os *os = slwi_os_get();
    const slwi_tool_list *absent = &answer->facts[SLWI_TOOL_FACT_ABSENT];
    const slwi_tool_list *listings = &answer->facts[SLWI_TOOL_FACT_LISTING];
    slwi_stat stat;
    for (size_t i = 0; i < absent->count; i++) {
        if (os->fstatat(os, AT_FDCWD, absent->items[i], 0, &stat) >= 0) return 0;
    }
    for (size_t i = 0; i < listings->count; i++) {
        if (!listing_holds(listings->items[i], allocator)) return 0;
    }
    return 1;
}

static slw_code add_files(slw_identity *identity, const slwi_tool_answer *answer, const char *driver, slw_error *err) {
    slw_code rc = slw_identity_component(identity, "answer", err);
    if (rc == SLW_OK) rc = slw_identity_add_file(identity, "answer", driver, err);
    for (int kind = SLWI_TOOL_FACT_PROGRAM; answer != NULL && kind <= SLWI_TOOL_FACT_FILE; kind++) {
        const slwi_tool_list *list = &answer->facts[kind];
        for (size_t i = 0; rc == SLW_OK && i < list->count; i++) {
            rc = slw_identity_add_file(identity, "answer", list->items[i], err);
        }
    }
    if (rc == SLW_OK) rc = slw_identity_prove(identity, "answer", err);
    if (rc == SLW_OK) rc = slw_identity_seal(identity, err);
    return rc;
}

/* A small identity of its own: the one place that knows how a file's digest may be had. */
slw_code slwi_tool_answer_proof(const slwi_tool_answer *answer, const char *driver, const slw_allocator *allocator,
                                slw_memo *memo, slw_digest *out, slw_error *err) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    options.allocator = *allocator;
    options.memo = memo;
    slw_code rc = slw_identity_create(&options, &identity, err);
    if (rc != SLW_OK) return rc;
    const char *name;
    const slw_digest *digest = NULL;
    rc = add_files(identity, answer, driver, err);
    if (rc == SLW_OK && (!slw_identity_at(identity, 0, &name, &digest) || digest == NULL)) rc = SLW_E_MISS;
    if (rc == SLW_OK) *out = *digest;
    slw_identity_release(&identity);
    return rc;
}
