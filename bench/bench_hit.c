/* A verified hit of 5 files, 204,796 bytes: every name, mode and byte judged. The floor opens, reads, closes and hashes
 * the same five files by absolute path, with nothing asked about them: 15 system calls and the fastest hashing there
 * is. Then an ON_MAP hit that touches one 40 KB payload. */
#include "bench.h"
#include "sha256.h"
#include "store_entry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 5

static const char *const names[FILES] = {"a.json", "b.ll", "c.ptx", "d.ttir", "e.cubin"};
static const size_t sizes[FILES] = {1200, 9000, 24000, 70000, 100596};

typedef struct hit {
    slw_store *full, *on_map;
    slw_key *key;
    slw_spec *spec;
    char paths[FILES][4096];
    char *memory[FILES];
    const char *one;
} hit;

static slw_code build(void *context, const slw_build_context *b, slw_error *err) {
    (void)err;
    const size_t *wanted = context;
    uint64_t state = 1;
    for (int i = 0; i < FILES; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", b->directory, names[i]);
        FILE *file = fopen(path, "wb");
        for (size_t at = 0; at < wanted[i]; at++)
            fputc((int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56), file);
        fclose(file);
    }
    return SLW_OK;
}

static void floor_hit(void *context) {
    hit *h = context;
    slw_bytes spans[FILES];
    slw_digest digests[FILES];
    for (int i = 0; i < FILES; i++) {
        const int fd = open(h->paths[i], O_RDONLY);
        if (fd < 0 || read(fd, h->memory[i], sizes[i]) != (ssize_t)sizes[i]) exit(1);
        close(fd);
        spans[i] = (slw_bytes){h->memory[i], sizes[i]};
    }
    slwi_sha256_many(spans, FILES, digests);
}

static void floor_one_stream(void *context) {
    hit *h = context;
    slw_digest digest;
    for (int i = 0; i < FILES; i++) {
        const int fd = open(h->paths[i], O_RDONLY);
        if (fd < 0 || read(fd, h->memory[i], sizes[i]) != (ssize_t)sizes[i]) exit(1);
        close(fd);
        slwi_sha256_once((slw_bytes){h->memory[i], sizes[i]}, &digest);
    }
}

static void lookup(slw_store *store, hit *h) {
    slw_error err = SLW_ERROR_INIT;
    slw_cached *cached = NULL;
    bench_check(slw_store_lookup(store, h->key, h->spec, &cached, &err), "lookup", &err);
    slw_cached_discard(&cached);
}

static void subject_hit(void *context) {
    lookup(((hit *)context)->full, context);
}

static const size_t map_sizes[FILES] = {1200, 9000, 40960, 70000, 100596};

static void floor_map(void *context) {
    hit *h = context;
    slw_digest digest;
    static char memory[40960];
    const int fd = open(h->paths[2], O_RDONLY);
    if (fd < 0 || read(fd, memory, sizeof memory) != (ssize_t)sizeof memory) exit(1);
    close(fd);
    slwi_sha256_once((slw_bytes){memory, sizeof memory}, &digest);
}

static void subject_map(void *context) {
    hit *h = context;
    slw_error err = SLW_ERROR_INIT;
    slwi_entry *entry = NULL;
    slwi_image *image = NULL;
    bench_check(slwi_store_lookup(h->on_map, h->key, h->spec, &entry, &err), "lookup", &err);
    bench_check(slwi_entry_read(entry, names[2], &image, &err), "payload", &err);
    slwi_release(image);
    slwi_release(entry);
}

static void prepare(hit *h, int number, const size_t *wanted) {
    slw_error err = SLW_ERROR_INIT;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    char root[256], private_root[256];
    snprintf(root, sizeof root, "%s/store", bench_directory());
    snprintf(private_root, sizeof private_root, "%s/private", bench_directory());
    options.root = root;
    options.private_root = private_root;
    bench_check(slw_store_open(&options, &h->full, &err), "open", &err);
    options.verify = SLW_VERIFY_ON_MAP;
    bench_check(slw_store_open(&options, &h->on_map, &err), "open", &err);
    bench_request(number, names, FILES, NULL, &h->key, &h->spec);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.build = build;
    builder.context = (void *)(uintptr_t)wanted;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    bench_check(slw_store_get_or_build(h->full, h->key, h->spec, &builder, &report, &cached, &err), "build", &err);
    if (report.disposition != SLW_PUBLISHED) bench_die(report.reason, &err);
    for (int i = 0; i < FILES; i++) {
        snprintf(h->paths[i], sizeof h->paths[i], "%s/%s", slw_cached_directory(cached), names[i]);
        h->memory[i] = malloc(wanted[i]);
    }
    slw_cached_discard(&cached);
    slw_build_report_release(&report);
}

int main(void) {
    static hit full, map;
    prepare(&full, 1, sizes);
    printf("sha256: %s\n", slw_sha256_implementation());
    bench_ratio("verified hit, 5 files, 204,796 bytes", floor_hit, subject_hit, &full, 4001, 1, 1.3);
    bench_ratio("  the same, floor hashing one file at a time", floor_one_stream, subject_hit, &full, 2001, 1, 0);
    prepare(&map, 2, map_sizes);
    bench_ratio("ON_MAP hit touching one 40 KB payload", floor_map, subject_map, &map, 4001, 1, 0);
    return 0;
}
