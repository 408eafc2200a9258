/* The table of system calls in force. */
#include "platform.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static slwi_os real;
static _Atomic(const slwi_os *) in_force;

static void fill(void) {
    slwi_platform_files(&real);
    slwi_platform_names(&real);
    slwi_platform_memory(&real);
    slwi_platform_system(&real);
    slwi_platform_library(&real);
    slwi_platform_process(&real);
}

const slwi_os *slwi_os_real(void) {
    (void)pthread_once(&once, fill);
    return &real;
}

const slwi_os *slwi_os_get(void) {
    const slwi_os *table = atomic_load_explicit(&in_force, memory_order_acquire);
    if (table != NULL) return table;
    table = slwi_os_real();
    const slwi_os *none = NULL;
    /* Whoever comes first installs the same table; a replacement made meanwhile stays. */
    if (atomic_compare_exchange_strong(&in_force, &none, table)) return table;
    return none;
}

void slwi_os_replace(const slwi_os *table) {
    atomic_store_explicit(&in_force, table, memory_order_release);
}
