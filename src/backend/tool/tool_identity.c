#include "tool_identity.h"

#include <slipway/key.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "tool_depfile.h"
#include "tool_run.h"

slw_code slwi_tool_identity_add_list(slw_identity *identity, const char *component, const char *name,
                                     const slw_allocator *allocator, const char *const *items, slw_error *err) {
    slwi_buffer text;
    slw_digest digest;
    slwi_buffer_init(&text, allocator, SIZE_MAX);
    for (size_t i = 0; items != NULL && items[i] != NULL; i++)
        slwi_buffer_append(&text, items[i], strlen(items[i]) + 1);
    slw_code rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) {
        slw_sha256((slw_bytes){text.data != NULL ? text.data : "", text.size}, &digest);
        rc = slw_identity_add_digest(identity, component, name, &digest, err);
    }
    slwi_buffer_free(&text);
    return rc;
}

/* By text, so that only what certainly is the same is left out. */
static int is_enclosed(const slwi_tool_list *roots, size_t index) {
    char inner[SLWI_TOOL_PATH_MAX];
    char outer[SLWI_TOOL_PATH_MAX];
    const char *rest;
    if (strstr(roots->items[index], "..") != NULL || !slwi_tool_normalize(inner, roots->items[index])) return 0;
    for (size_t i = 0; i < roots->count; i++) {
        if (i == index || strstr(roots->items[i], "..") != NULL || !slwi_tool_normalize(outer, roots->items[i]))
            continue;
        if (slwi_tool_below(inner, outer, &rest) && rest[0] != '\0' && slwi_tool_tree_has(rest)) return 1;
    }
    return 0;
}

slw_code slwi_tool_identity_add_trees(slw_identity *identity, const char *component, const slwi_tool_list *roots,
                                      slw_error *err) {
    slw_code rc = SLW_OK;
    for (size_t i = 0; rc == SLW_OK && i < roots->count; i++) {
        if (!is_enclosed(roots, i)) rc = slw_identity_add_tree(identity, component, roots->items[i], 1, err);
    }
    return rc;
}

static slw_code add_variable(slw_identity *identity, const slw_allocator *allocator, const char *variable,
                             slw_error *err) {
    const char *value = strchr(variable, '=');
    if (value == NULL) return SLW_OK;
    char *name = slwi_strndup(allocator, variable, (size_t)(value - variable));
    if (name == NULL) return slwi_fail_memory(err, strlen(variable));
    const slw_code rc = slw_identity_add_environment(identity, SLWI_TOOL_ENVIRONMENT, name, value + 1, err);
    slwi_free(allocator, name);
    return rc;
}

slw_code slwi_tool_identity_environment(slw_identity *identity, const slw_allocator *allocator, const char *path,
                                        const slwi_tool_list *variables, const char *const *rules, slw_error *err) {
    slwi_tool_list all;
    slwi_tool_list_init(&all, allocator);
    slwi_tool_environment(path, "a private directory", &all);
    if (variables != NULL) slwi_tool_list_add_all(&all, variables);
    slw_code rc = slwi_tool_list_status(&all, err);
    if (rc == SLW_OK) rc = slw_identity_component(identity, SLWI_TOOL_ENVIRONMENT, err);
    for (size_t i = 0; rc == SLW_OK && i < all.count; i++) rc = add_variable(identity, allocator, all.items[i], err);
    if (rc == SLW_OK) rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_ENVIRONMENT, "rules", allocator, rules, err);
    slwi_tool_list_free(&all);
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_ENVIRONMENT, err) : rc;
}
