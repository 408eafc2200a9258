#include "tool_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

void slwi_tool_list_init(slwi_tool_list *list, const slw_allocator *allocator) {
    memset(list, 0, sizeof(*list));
    list->allocator = allocator;
}

void slwi_tool_list_free(slwi_tool_list *list) {
    for (size_t i = 0; i < list->count; i++) slwi_free(list->allocator, list->items[i]);
    slwi_free(list->allocator, list->items);
    slwi_tool_list_init(list, list->allocator);
}

static int make_room(slwi_tool_list *list) {
    if (list->count + 1 < list->capacity) return 1;
    size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    char **items = slwi_realloc_array(list->allocator, list->items, capacity, sizeof(*items));
    if (items == NULL) return 0;
    list->items = items;
    list->capacity = capacity;
    return 1;
}

void slwi_tool_list_add_bytes(slwi_tool_list *list, const char *text, size_t size) {
    if (list->failed) return;
    char *copy = slwi_strndup(list->allocator, text, size);
    if (copy == NULL || !make_room(list)) {
        slwi_free(list->allocator, copy);
        list->failed = 1;
        return;
    }
    list->items[list->count++] = copy;
    list->items[list->count] = NULL;
}

void slwi_tool_list_add(slwi_tool_list *list, const char *text) {
    slwi_tool_list_add_bytes(list, text, strlen(text));
}

void slwi_tool_list_add_format(slwi_tool_list *list, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *space = size < 0 ? NULL : slwi_alloc(list->allocator, (size_t)size + 1);
    if (space == NULL) {
        list->failed = 1;
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(space, (size_t)size + 1, format, arguments);
    va_end(arguments);
    slwi_tool_list_add(list, space);
    slwi_free(list->allocator, space);
}

void slwi_tool_list_add_words(slwi_tool_list *list, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) slwi_tool_list_add(list, words[i]);
}

void slwi_tool_list_add_all(slwi_tool_list *list, const slwi_tool_list *from) {
    for (size_t i = 0; i < from->count; i++) slwi_tool_list_add(list, from->items[i]);
    if (from->failed) list->failed = 1;
}

int slwi_tool_list_has(const slwi_tool_list *list, const char *text) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], text) == 0) return 1;
    }
    return 0;
}

void slwi_tool_list_add_once(slwi_tool_list *list, const char *text) {
    if (!slwi_tool_list_has(list, text)) slwi_tool_list_add(list, text);
}

slw_code slwi_tool_list_status(const slwi_tool_list *list, slw_error *err) {
    return list->failed ? slwi_fail_memory(err, sizeof(char *) * (list->count + 1)) : SLW_OK;
}

int slwi_tool_join(char *out, const char *directory, const char *name) {
    size_t head = strlen(directory);
    size_t tail = strlen(name);
    if (name[0] == '/') head = 0;
    while (head > 1 && directory[head - 1] == '/') head--;
    if (head + 1 + tail + 1 > SLWI_TOOL_PATH_MAX) return 0;
    const char *between = head != 0 && directory[head - 1] != '/' ? "/" : "";
    (void)snprintf(out, SLWI_TOOL_PATH_MAX, "%.*s%s%s", (int)head, directory, between, name);
    return 1;
}

const char *slwi_tool_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

int slwi_tool_directory(char *out, const char *path) {
    size_t size = (size_t)(slwi_tool_base_name(path) - path);
    if (size == 0) {
        memcpy(out, ".", 2);
        return 1;
    }
    while (size > 1 && path[size - 1] == '/') size--;
    if (size + 1 > SLWI_TOOL_PATH_MAX) return 0;
    memcpy(out, path, size);
    out[size] = '\0';
    return 1;
}

/* Drops the last component of out[0..size). */
static size_t drop_last(const char *out, size_t size, size_t floor) {
    while (size > floor && out[size - 1] != '/') size--;
    if (size > floor) size--;
    return size;
}

int slwi_tool_normalize(char *out, const char *path) {
    size_t floor = path[0] == '/' ? 1 : 0;
    size_t size = floor;
    if (strlen(path) + 2 > SLWI_TOOL_PATH_MAX) return 0;
    if (floor) out[0] = '/';
    while (*path != '\0') {
        size_t part = strcspn(path, "/");
        if (part == 2 && path[0] == '.' && path[1] == '.') {
            if (size == 0 && !floor) return 0;
            size = drop_last(out, size, floor);
        } else if (part != 0 && !(part == 1 && path[0] == '.')) {
            if (size > floor) out[size++] = '/';
            memcpy(out + size, path, part);
            size += part;
        }
        path += part;
        while (*path == '/') path++;
    }
    if (size == 0) out[size++] = '.';
    out[size] = '\0';
    return 1;
}

int slwi_tool_below(const char *path, const char *root, const char **rest) {
    size_t size = strlen(root);
    if (size == 1 && root[0] == '/') size = 0; /* everything absolute lies below it */
    if (strncmp(path, root, size) != 0) return 0;
    if (path[size] == '\0') {
        *rest = path + size;
        return 1;
    }
    if (path[size] != '/') return 0;
    *rest = path + size + 1;
    return 1;
}
