/* Lists of text, and paths as text: what every backend keeps of its compiler. */
#ifndef SLWI_TOOL_LIST_H
#define SLWI_TOOL_LIST_H

#include "buffer.h"

typedef struct slwi_tool_list {
    const slw_allocator *allocator;
    char **items; /* NUL-terminated copies; items[count] is NULL once anything was added */
    size_t count;
    size_t capacity;
    int failed; /* 1: an addition found no memory and the list is not complete */
} slwi_tool_list;

void slwi_tool_list_init(slwi_tool_list *list, const slw_allocator *allocator);
void slwi_tool_list_free(slwi_tool_list *list);
/* Adds a copy. A failure is remembered: check once at the end with slwi_tool_list_status. */
void slwi_tool_list_add(slwi_tool_list *list, const char *text);
void slwi_tool_list_add_bytes(slwi_tool_list *list, const char *text, size_t size);
void slwi_tool_list_add_format(slwi_tool_list *list, const char *format, ...) SLW_PRINTF(2, 3);
/* Every word of a NULL-terminated array. */
void slwi_tool_list_add_words(slwi_tool_list *list, const char *const *words);
void slwi_tool_list_add_all(slwi_tool_list *list, const slwi_tool_list *from);
int slwi_tool_list_has(const slwi_tool_list *list, const char *text);
/* Adds unless it is there. */
void slwi_tool_list_add_once(slwi_tool_list *list, const char *text);
slw_code slwi_tool_list_status(const slwi_tool_list *list, slw_error *err); /* OK or NO_MEMORY */

/* Longer paths are refused by the system as well. */
#define SLWI_TOOL_PATH_MAX 4096u

/* directory + "/" + name into out[SLWI_TOOL_PATH_MAX]; 0 when it does not fit. An absolute name stands alone. */
int slwi_tool_join(char *out, const char *directory, const char *name);
/* The directory of a path, without its last component: "/usr/bin" of "/usr/bin/gcc", "/" of "/gcc", "." of "gcc". */
int slwi_tool_directory(char *out, const char *path);
const char *slwi_tool_base_name(const char *path);

/* Removes "." and empty components, and resolves ".." by text: for comparing only, never for opening (a ".." after a
   link means something else to the file system). 0 when it does not fit, or when ".." climbs above the start of a
   relative path. */
int slwi_tool_normalize(char *out, const char *path);
/* 1 when `path` is `root` or lies below it; both normalized. *rest is what follows, without a leading slash. */
int slwi_tool_below(const char *path, const char *root, const char **rest);

#endif
