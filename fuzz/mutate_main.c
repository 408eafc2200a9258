/* In place of libFuzzer: gives a target COUNT mutated copies of the files named, one after the other, always the same ones for the
 * same files, seed and count.
 *
 *     TARGET COUNT [--seed S] [--only I] [--from I] [--keep DIRECTORY] [--accepted] [--once] FILE|FOLDER…
 *
 * Mutation I depends on I, the seed and the list of files alone, so `--only I` repeats one, and `--from I` goes on
 * after one. `--accepted` leaves out the files that the target refuses as they are, so that mutations come further
 * in. `--keep` writes each mutation there before it is tried, under one name, so that it survives what it does.
 * Prints a line at the end: tried, accepted, seconds. What a mutation breaks (a promise, a sanitizer, a minute gone
 * by) is told with its number. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

typedef struct fixture {
    uint8_t *data;
    size_t size;
    char *path;
} fixture;

static fixture *fixtures;
static size_t fixture_count, fixture_capacity;

/* ---- files ---- */

static _Noreturn void die(const char *what) {
    (void)fprintf(stderr, "mutate: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void *need(void *memory) {
    if (memory == NULL) die("memory");
    return memory;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const fixture *)a)->path, ((const fixture *)b)->path);
}

static void load_file(const char *path, size_t size) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) die(path);
    if (fixture_count == fixture_capacity) {
        fixture_capacity = fixture_capacity == 0 ? 64 : 2 * fixture_capacity;
        fixtures = need(realloc(fixtures, fixture_capacity * sizeof *fixtures));
    }
    fixture *to = &fixtures[fixture_count++];
    to->data = need(malloc(size + 1));
    to->size = fread(to->data, 1, size, f);
    to->path = need(strdup(path));
    (void)fclose(f);
}

static void load(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) die(path);
    if (!S_ISDIR(st.st_mode)) {
        load_file(path, (size_t)st.st_size);
        return;
    }
    DIR *folder = opendir(path);
    const struct dirent *entry;
    if (folder == NULL) die(path);
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        load(name);
    }
    (void)closedir(folder);
}

/* Leaves the files that the target accepts. */
static void only_accepted(void) {
    size_t left = 0;
    for (size_t i = 0; i < fixture_count; i++) {
        const uint64_t before = fuzz_accepted;
        (void)LLVMFuzzerTestOneInput(fixtures[i].data, fixtures[i].size);
        if (fuzz_accepted != before) fixtures[left++] = fixtures[i];
    }
    if (left != 0) fixture_count = left;
}

/* ---- chance ---- */

static uint64_t state;

/* splitmix64 */
static uint64_t next(void) {
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(size_t limit) {
    return limit == 0 ? 0 : (size_t)(next() % limit);
}

/* ---- mutations ---- */

typedef struct work {
    uint8_t *data;
    size_t size, capacity;
} work;

static uint64_t interesting(size_t size) {
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      7,
                                      8,
                                      16,
                                      24,
                                      63,
                                      64,
                                      65,
                                      127,
                                      128,
                                      255,
                                      256,
                                      1024,
                                      4095,
                                      4096,
                                      32764,
                                      32768,
                                      65279,
                                      65535,
                                      65536,
                                      0x7fffffff,
                                      0x80000000u,
                                      0xfffffff0u,
                                      0xffffffffu,
                                      UINT64_C(0x7fffffffffffffff),
                                      UINT64_C(0x8000000000000000),
                                      UINT64_C(0xfffffffffffffff8),
                                      UINT64_MAX};
    switch (below(4)) {
    case 0:
        return size + below(17) - 8; /* about the file's end */
    case 1:
        return next() >> below(64);
    default:
        return values[below(sizeof values / sizeof values[0])];
    }
}

static void store(work *w, size_t at, uint64_t value, size_t bytes, int big) {
    for (size_t i = 0; i < bytes && at + i < w->size; i++)
        w->data[at + i] = (uint8_t)(value >> (8 * (big ? bytes - 1 - i : i)));
}

static uint64_t fetch(const work *w, size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && at + i < w->size; i++) value |= (uint64_t)w->data[at + i] << (8 * i);
    return value;
}

static void insert(work *w, size_t at, size_t bytes) {
    if (bytes > w->capacity - w->size) bytes = w->capacity - w->size;
    memmove(w->data + at + bytes, w->data + at, w->size - at);
    w->size += bytes;
}

static void remove_block(work *w, size_t at, size_t bytes) {
    if (bytes > w->size - at) bytes = w->size - at;
    memmove(w->data + at, w->data + at + bytes, w->size - at - bytes);
    w->size -= bytes;
}

/* Half of all damage goes to the tables at the ends and to what they name, not to the code between. */
static size_t place(const work *w) {
    const size_t near = w->size < 512 ? w->size : 512;
    switch (below(4)) {
    case 0:
        return below(near);
    case 1:
        return w->size - 1 - below(near < 4096 && w->size > 4096 ? 4096 : near);
    default:
        return below(w->size);
    }
}

/* A number of an ELF file: of its header, of a section header, or of what a section holds. */
static void mutate_elf(work *w) {
    const uint64_t table = fetch(w, 40, 8), count = fetch(w, 60, 2);
    size_t at = below(64);
    if (below(4) != 0 && count != 0 && table < w->size) {
        at = (size_t)table + 64 * below((size_t)count) + 4 * below(16);
        if (below(2) != 0) { /* inside the section */
            const size_t header = (size_t)table + 64 * below((size_t)count);
            const uint64_t offset = fetch(w, header + 24, 8), size = fetch(w, header + 32, 8);
            if (offset < w->size && size != 0) at = (size_t)offset + below((size_t)(size < 4096 ? size : 4096));
        }
    }
    at &= ~(size_t)3;
    if (below(3) == 0)
        store(w, at, fetch(w, at, 4) + below(9) - 4, 4, 0);
    else
        store(w, at, interesting(w->size), below(2) ? 4 : 8, 0);
}

/* In text: characters and words of the text itself, and numbers. */
static void mutate_text(work *w) {
    char number[32];
    const size_t at = below(w->size), before = w->size;
    switch (below(4)) {
    case 0:
        w->data[at] = w->data[below(w->size)];
        break;
    case 1: { /* a number in place of a digit */
        size_t digit = at;
        while (digit < w->size && (w->data[digit] < '0' || w->data[digit] > '9')) digit++;
        const int n = snprintf(number, sizeof number, "%llu", (unsigned long long)interesting(w->size));
        if (digit == w->size || n <= 0) break;
        insert(w, digit, (size_t)n - 1);
        if (w->size - before == (size_t)n - 1) memcpy(w->data + digit, number, (size_t)n);
        break;
    }
    case 2: { /* a piece of the text once more */
        uint8_t piece[48];
        const size_t from = below(w->size), length = 1 + below(sizeof piece);
        const size_t fits = length < w->size - from ? length : w->size - from;
        memcpy(piece, w->data + from, fits);
        insert(w, at, fits);
        if (w->size - before == fits) memcpy(w->data + at, piece, fits);
        break;
    }
    default:
        remove_block(w, at, 1 + below(24));
    }
}

static int is_text(const work *w) {
    const size_t size = w->size < 64 ? w->size : 64;
    for (size_t i = 0; i < size; i++) {
        if (w->data[i] >= 0x7f || (w->data[i] < 0x20 && w->data[i] != '\n' && w->data[i] != '\t' && w->data[i] != '\r'))
            return 0;
    }
    return 1;
}

static void mutate_once(work *w) {
    if (w->size == 0) {
        insert(w, 0, 1);
        w->data[0] = (uint8_t)next();
        return;
    }
    if (below(4) != 0 && is_text(w)) {
        mutate_text(w);
        return;
    }
    const size_t at = place(w), bytes = (size_t)1 << below(4);
    switch (below(12)) {
    case 0:
        w->data[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        w->data[at] = (uint8_t)next();
        break;
    case 2:
        store(w, at, interesting(w->size), bytes, 0);
        break;
    case 3:
        store(w, at / bytes * bytes, interesting(w->size), bytes, 0);
        break;
    case 4:
        store(w, at, interesting(w->size), bytes, 1);
        break;
    case 5:
        store(w, at, fetch(w, at, bytes) + below(17) - 8, bytes, 0);
        break;
    case 6:
        w->size = below(4) == 0 ? at : w->size - below(w->size < 256 ? w->size : 256);
        break;
    case 7: {
        const size_t length = 1 + below(64), from = below(w->size);
        const size_t fits = length < w->size - from ? length : w->size - from;
        memmove(w->data + at, w->data + from, fits < w->size - at ? fits : w->size - at);
        break;
    }
    case 8:
        remove_block(w, at, 1 + below(32));
        break;
    case 9: {
        const size_t length = 1 + below(32), before = w->size;
        insert(w, at, length);
        for (size_t i = 0; i < w->size - before; i++)
            w->data[at + i] = (uint8_t)(below(2) ? next() : w->data[below(before)]);
        break;
    }
    default:
        if (w->size > 64 && memcmp(w->data,
                                   "\x7f"
                                   "ELF",
                                   4) == 0)
            mutate_elf(w);
        else
            store(w, at & ~(size_t)3, interesting(w->size), 4, 0);
    }
}

static void make(work *w, uint64_t index, uint64_t seed) {
    state = seed * UINT64_C(0x2545f4914f6cdd1d) + index * UINT64_C(0xd1342543de82ef95);
    const fixture *from = &fixtures[below(fixture_count)];
    memcpy(w->data, from->data, from->size);
    w->size = from->size;
    for (size_t n = 1 + (below(3) == 0 ? below(6) : 0); n > 0; n--) mutate_once(w);
}

/* ---- the run ---- */

static void keep(const char *directory, const uint8_t *data, size_t size) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/mutation", directory);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0) die(path);
}

/* From <sanitizer/common_interface_defs.h>; not there without a sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void tell_number(void) {
    char line[64];
    const int n = snprintf(line, sizeof line, "mutation %llu\n", (unsigned long long)fuzz_mutation);
    if (n > 0) (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void too_slow(int signal_number) {
    static const char words[] = "a minute and no end\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    tell_number();
    _exit(3);
}

static uint64_t accepted;

static void run_one(work *w, uint64_t index, uint64_t seed, const char *keep_in) {
    make(w, index, seed);
    uint8_t *exact = need(malloc(w->size == 0 ? 1 : w->size));
    memcpy(exact, w->data, w->size);
    if (keep_in != NULL) keep(keep_in, exact, w->size);
    fuzz_mutation = index;
    const uint64_t before = fuzz_accepted;
    if (index % 64 == 0) (void)alarm(60);
    (void)LLVMFuzzerTestOneInput(exact, w->size);
    accepted += fuzz_accepted != before;
    free(exact);
}

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, seed = 1, first = 0;
    const char *keep_in = NULL;
    size_t largest = 0;
    int accepted_only = 0;
    for (int i = 2; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--from") == 0)
            first = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--keep") == 0)
            keep_in = argv[++i];
        else if (strcmp(argv[i], "--accepted") == 0)
            accepted_only = 1;
        else if (strcmp(argv[i], "--once") == 0)
            fuzz_every_fault = -1; /* no second run with a failing allocation */
        else if (i + 1 < argc && strcmp(argv[i], "--only") == 0) {
            first = strtoull(argv[++i], NULL, 10);
            count = first + 1;
        } else
            load(argv[i]);
    }
    if (fixture_count == 0 || count <= first) {
        (void)fprintf(stderr,
                      "usage: %s COUNT [--seed S] [--only I] [--from I] [--keep DIRECTORY] [--accepted] FILE|FOLDER…\n",
                      argv[0]);
        return 2;
    }
    qsort(fixtures, fixture_count, sizeof *fixtures, by_path);
    if (accepted_only) only_accepted();
    for (size_t i = 0; i < fixture_count; i++) largest = fixtures[i].size > largest ? fixtures[i].size : largest;
    work w = {need(malloc(largest + 1024)), 0, largest + 1024};
    if (__sanitizer_set_death_callback != NULL) __sanitizer_set_death_callback(tell_number);
    (void)signal(SIGALRM, too_slow);
    const double begin = seconds();
    for (uint64_t i = first; i < count; i++) run_one(&w, i, seed, keep_in);
    const char *slash = strrchr(argv[0], '/');
    (void)printf("%s: %llu mutations of %zu files, %llu accepted, %.0f s\n", slash != NULL ? slash + 1 : argv[0],
                 (unsigned long long)(count - first), fixture_count, (unsigned long long)accepted, seconds() - begin);
    free(w.data);
    return 0;
}
