#include "identity_inventory.h"

#include <string.h>

#include "fail.h"
#include "heap_sort.h"
#include "identity_state.h"
#include "memory.h"

static int compare_items(const void *a, const void *b) {
    const slwi_inventory_item *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0) order = strcmp(x->kind, y->kind);
    if (order == 0) order = (x->value != NULL) - (y->value != NULL);
    if (order == 0 && x->value != NULL) order = strcmp(x->value, y->value);
    return order != 0 ? order : memcmp(&x->digest, &y->digest, sizeof x->digest);
}
_Static_assert(sizeof(slwi_inventory_item) <= SLWI_SORT_ITEM_MAX_BYTES, "items are sorted in place");

slw_code slwi_inventory_reserve(const slw_allocator *allocator, slwi_component *component, size_t more,
                                slw_error *err) {
    const size_t room = SLW_LIMIT_INVENTORY_ITEMS - component->item_count;
    const size_t wanted = component->item_count + (more < room ? more : room);
    if (wanted <= component->item_capacity) return SLW_OK;
    size_t capacity = component->item_capacity == 0 ? 32 : component->item_capacity * 2;
    if (capacity < wanted) capacity = wanted;
    slwi_inventory_item *grown = slwi_realloc_array(allocator, component->items, capacity, sizeof *grown);
    if (grown == NULL) return slwi_fail_memory(err, capacity * sizeof *grown);
    component->items = grown;
    component->item_capacity = capacity;
    return SLW_OK;
}

/* The libraries of one program are those of the next: a list that is a thousand long at most is looked through. */
void slwi_inventory_put(slwi_component *component, const slwi_inventory_item *item) {
    for (size_t i = 0; i < component->item_count; i++) {
        if (compare_items(&component->items[i], item) == 0) return;
    }
    if (component->item_count < SLW_LIMIT_INVENTORY_ITEMS)
        component->items[component->item_count++] = *item;
    else
        component->left_out++;
}

void slwi_inventory_drop_tree(slwi_component *component, const char *root) {
    for (size_t i = 0; i < component->item_count; i++) {
        const slwi_inventory_item *item = &component->items[i];
        if ((strcmp(item->kind, "tree") != 0 && strcmp(item->kind, "absent") != 0) || strcmp(item->name, root) != 0)
            continue;
        component->items[i] = component->items[--component->item_count];
        return;
    }
}

void slwi_inventory_sort(slwi_component *component) {
    slwi_heap_sort(component->items, component->item_count, sizeof *component->items, compare_items);
}

static const slwi_component *component_at(const slw_identity *identity, size_t index) {
    if (!slwi_identity_ok(identity) || !identity->sealed || index >= identity->component_count) return NULL;
    return identity->components[index];
}

int slwi_identity_item(const slw_identity *identity, size_t component, size_t index, slwi_inventory_item *out) {
    const slwi_component *found = component_at(identity, component);
    if (found == NULL || index >= found->item_count) return 0;
    *out = found->items[index];
    return 1;
}

uint64_t slwi_identity_left_out(const slw_identity *identity, size_t component) {
    const slwi_component *found = component_at(identity, component);
    return found != NULL ? found->left_out : 0;
}
