/* What the files of base/platform share: the functions they put into the table, and the conventions for errno. */
#ifndef SLWI_PLATFORM_H
#define SLWI_PLATFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>

#include "os.h"

/* `call` again for as long as a signal interrupts it; the value, or -errno. */
#define SLWI_RETRY(type, result, call)                                                                             \
    do {                                                                                                           \
        type slwi_value_ = 0;                                                                                      \
        do {                                                                                                       \
            slwi_value_ = (call);                                                                                  \
        } while (slwi_value_ < 0 && errno == EINTR);                                                               \
        (result) = slwi_value_ < 0 ? (type)-errno : slwi_value_;                                                   \
    } while (0)

/* Each fills its part of the table. */
void slwi_platform_files(slwi_os *table);
void slwi_platform_names(slwi_os *table);
void slwi_platform_memory(slwi_os *table);
void slwi_platform_system(slwi_os *table);
void slwi_platform_library(slwi_os *table);
void slwi_platform_process(slwi_os *table);

/* Opens, reads up to size - 1 bytes, terminates; the length or -errno. For /proc. */
int slwi_platform_read_text(const char *path, char *out, size_t size);

#endif
