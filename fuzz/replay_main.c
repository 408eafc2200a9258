/* Runs the inputs named on the command line, and every regular file in the folders named, through one target. What a target
 * refuses ends the process, as under libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t runs;

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 0;
    }
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0, got = 0;
    do {
        if (size == capacity) {
            capacity = capacity == 0 ? 65536 : 2 * capacity;
            uint8_t *grown = realloc(data, capacity);
            if (grown == NULL) abort();
            data = grown;
        }
        got = fread(data + size, 1, capacity - size, file);
        size += got;
    } while (got != 0);
    (void)fclose(file);
    /* A block of exactly the size, so that a sanitizer sees what is read past it. */
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    if (exact == NULL) abort();
    memcpy(exact, data, size);
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    runs++;
    return 1;
}

static int run_path(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return 0;
    }
    if (!S_ISDIR(st.st_mode)) return run_file(path);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        return 0;
    }
    int ok = 1;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        ok &= run_path(name);
    }
    (void)closedir(folder);
    return ok;
}

int main(int argc, char **argv) {
    int ok = argc > 1;
    fuzz_every_fault = 1;
    for (int i = 1; i < argc; i++) ok &= run_path(argv[i]);
    if (argc <= 1) (void)fprintf(stderr, "usage: %s FILE|FOLDER…\n", argv[0]);
    const int passed = ok && runs > 0;
    const char *slash = strrchr(argv[0], '/');
    (void)printf("%s: %zu inputs\nreplay: %d passed, %d failed\n", slash != NULL ? slash + 1 : argv[0], runs, passed, !passed);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
