/* The identity of a large toolchain, 14,700 files of 900 MB, each time in a fresh process: with the memo against a stat
 * of the same files by their paths, and by content against reading and hashing them with the fastest code. Then what a
 * key costs that is made of a traced function with twenty arguments. */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sha256.h"

#define DIRECTORIES    700
#define FILES_EACH     21 /* one library and twenty headers */
#define FILES          (DIRECTORIES * FILES_EACH)
#define LIBRARY_BYTES  1000000
#define HEADER_BYTES   14286
#define SETTLE_S       4 /* until the memo may remember a file (pitfall 7) */
#define ROUNDS_MEMO    15
#define ROUNDS_CONTENT 5
#define ROUNDS_KEY     1000
#define ARGUMENTS      20
#define CONSTANTS      6

static char tree[64], memo_directory[80];
static char paths[FILES][96];
static int files; /* of them used */
static uint8_t bytes[2][LIBRARY_BYTES];

static size_t size_of(int file) {
    return file % FILES_EACH == 0 ? LIBRARY_BYTES : HEADER_BYTES;
}

/* No two alike, or a reader might gain by it. */
static void make_tree(void) {
    (void)snprintf(tree, sizeof tree, "%s/tree", bench_directory());
    (void)snprintf(memo_directory, sizeof memo_directory, "%s/memo", bench_directory());
    if (mkdir(tree, 0755) != 0) exit(1);
    for (size_t i = 0; i < sizeof bytes[0]; i++) bytes[0][i] = (uint8_t)(i * 2654435761u >> 13);
    for (int i = 0; i < files; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/d%03d", tree, i / FILES_EACH);
        if (i % FILES_EACH == 0 && mkdir(paths[i], 0755) != 0) exit(1);
        (void)snprintf(paths[i], sizeof paths[i], "%s/d%03d/file%02d.h", tree, i / FILES_EACH, i % FILES_EACH);
        memcpy(bytes[0], &i, sizeof i);
        const int fd = open(paths[i], O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0 || write(fd, bytes[0], size_of(i)) != (ssize_t)size_of(i) || close(fd) != 0) exit(1);
    }
    sleep(SETTLE_S);
}

/* ---- in a fresh process ------------------------------------------------------------------------------------------ */

static double in_child(int (*job)(void)) {
    const uint64_t start = bench_now_ns();
    const pid_t child = fork();
    if (child == 0) _exit(job());
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "bench: a child ended with %d\n", status);
        exit(1);
    }
    return (double)(bench_now_ns() - start);
}

static int stat_all(void) {
    struct stat st;
    int bad = 0;
    for (int i = 0; i < files; i++) bad |= stat(paths[i], &st);
    return bad != 0;
}

static int read_one(int file, uint8_t *into) {
    const int fd = open(paths[file], O_RDONLY | O_CLOEXEC);
    const int good = fd >= 0 && read(fd, into, size_of(file)) == (ssize_t)size_of(file);
    return close(fd) == 0 && good;
}

/* Two of a size side by side, which is the fastest code there is here. */
static int read_all(void) {
    slw_digest digests[2];
    for (int pair = 0; pair < files; pair += 2 * FILES_EACH) {
        for (int i = 0; i < FILES_EACH; i++) {
            const slw_bytes both[2] = {{bytes[0], size_of(pair + i)}, {bytes[1], size_of(pair + i)}};
            if (!read_one(pair + i, bytes[0]) || !read_one(pair + FILES_EACH + i, bytes[1])) return 1;
            slwi_sha256_many(both, 2, digests);
        }
    }
    return 0;
}

static int prove(slw_memo *memo, int policy, uint64_t *read_files) {
    slw_error err = SLW_ERROR_INIT;
    slw_identity *identity = NULL;
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    options.memo = memo;
    options.policy = policy;
    slw_code rc = slw_identity_create(&options, &identity, &err);
    if (rc == SLW_OK) rc = slw_identity_component(identity, "compiler", &err);
    if (rc == SLW_OK) rc = slw_identity_add_tree(identity, "compiler", tree, 0, &err);
    if (rc == SLW_OK) rc = slw_identity_prove(identity, "compiler", &err);
    if (rc == SLW_OK) rc = slw_identity_seal(identity, &err);
    if (rc == SLW_OK) rc = slw_identity_usable(identity, &err);
    if (rc == SLW_OK) rc = slw_identity_get_cost(identity, &cost, &err);
    *read_files = cost.read_files;
    slw_identity_release(&identity);
    return rc == SLW_OK;
}

static int with_memo(uint64_t *read_files) {
    slw_error err = SLW_ERROR_INIT;
    slw_memo *memo = NULL;
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    options.directory = memo_directory;
    if (slw_memo_open(&options, &memo, &err) != SLW_OK) return 0;
    const int good = prove(memo, SLW_IDENTITY_MEMO, read_files);
    slw_memo_close(&memo);
    return good;
}

static int by_memo(void) {
    uint64_t read_files = 1;
    return !with_memo(&read_files) || read_files != 0;
}

static int by_content(void) {
    uint64_t read_files = 0;
    return !prove(NULL, SLW_IDENTITY_CONTENT, &read_files) || read_files != (uint64_t)files;
}

static void by_turns(const char *name, int (*floor)(void), int (*subject)(void), int rounds, double target) {
    static double f[ROUNDS_MEMO], s[ROUNDS_MEMO];
    if (bench_smoke()) rounds = 1;
    (void)in_child(floor);
    (void)in_child(subject);
    for (int i = 0; i < rounds; i++) {
        f[i] = in_child(floor);
        s[i] = in_child(subject);
    }
    bench_report(name, f, s, rounds, target);
}

/* ---- a key ------------------------------------------------------------------------------------------------------- */

static slw_code never(void *context, slw_text *out, slw_error *err) {
    (void)context;
    (void)out;
    (void)err;
    return SLW_E_DRIVER;
}

typedef struct traced {
    slw_lowered_source source;
    slw_named_record signature[ARGUMENTS], constants[CONSTANTS], attributes[ARGUMENTS];
    char names[ARGUMENTS][16];
} traced;

static slw_record *text_record(const char *text) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    bench_check(slw_record_string(NULL, (slw_bytes){text, strlen(text)}, &record, &err), "record", &err);
    return record;
}

static slw_record *int_record(int64_t value) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    bench_check(slw_record_int(NULL, value, &record, &err), "record", &err);
    return record;
}

static void trace(traced *t) {
    const slw_lowered_source init = SLW_LOWERED_SOURCE_INIT;
    t->source = init;
    for (int i = 0; i < ARGUMENTS; i++) {
        (void)snprintf(t->names[i], sizeof t->names[i], "argument_%d", i);
        t->signature[i] = (slw_named_record){t->names[i], text_record(i % 3 == 0 ? "*fp32" : "i32")};
        t->attributes[i] = (slw_named_record){t->names[i], int_record(16)};
    }
    for (int i = 0; i < CONSTANTS; i++) t->constants[i] = (slw_named_record){t->names[i], int_record(128 << i)};
    t->source.language = "bench 1";
    t->source.body = text_record("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    t->source.signature = t->signature;
    t->source.signature_count = ARGUMENTS;
    t->source.constants = t->constants;
    t->source.constant_count = CONSTANTS;
    t->source.attributes = t->attributes;
    t->source.attribute_count = ARGUMENTS;
    t->source.lower = never;
}

/* From the lists to the digest of the record: what a front end pays before it can look anything up. */
static void derive(void *context) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    slw_digest digest;
    bench_check(slw_lowered_source_record(NULL, &((traced *)context)->source, &record, &err), "record", &err);
    bench_check(slw_record_digest(record, NULL, &digest, &err), "digest", &err);
    slw_record_release(&record);
}

/* One SHA-256 of as many bytes as the record's text has. */
static void hash_text(void *context) {
    static slw_text text = SLW_TEXT_INIT;
    slw_error err = SLW_ERROR_INIT;
    slw_digest digest;
    if (text.data == NULL) {
        slw_record *record = NULL;
        bench_check(slw_lowered_source_record(NULL, &((traced *)context)->source, &record, &err), "record", &err);
        bench_check(slw_record_encode(record, NULL, &text, &err), "text", &err);
        slw_record_release(&record);
    }
    slwi_sha256_once((slw_bytes){text.data, text.size}, &digest);
}

int main(void) {
    static traced t;
    uint64_t read_files = 0;
    files = bench_smoke() ? 4 * FILES_EACH : FILES;
    trace(&t);
    bench_ratio("key of 20 arguments, against hashing its text", hash_text, derive, &t, ROUNDS_KEY, 1, 0);
    make_tree();
    bench_value("files of the tree", files, "files", 0);
    if (!with_memo(&read_files)) return 1; /* reads everything and remembers it */
    by_turns("identity of the tree, by memo", stat_all, by_memo, ROUNDS_MEMO, 1.3);
    by_turns("identity of the tree, by content", read_all, by_content, ROUNDS_CONTENT, 1.2);
    return 0;
}
