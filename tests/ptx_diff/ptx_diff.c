/* Our scanner against ptxas. This program makes modules and compares; run.sh runs ptxas in between.
 *
 *     ptx_diff make DIRECTORY COUNT SEED [FIXTURE.ptx…]   writes 0.ptx, 1.ptx, …: from the grammar, and by mutation
 *     ptx_diff check DIRECTORY COUNT                      reads N.ptx, N.log (what `ptxas -v` said), N.rc (its status)
 *
 * `check` prints a line for each module where the two differ and ends with 1 if there was one. The rule: where ptxas takes a
 * module, we find exactly its kernels, and NO_ENTRY where it has none, unless the module passes a limit of ours (ptxas takes a
 * parameter of 4,294,967,295 elements, which no launch does); where ptxas refuses, we may do either. */
#include <slipway/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx_scan.h"

#define TEXT_BYTES_MAX    65536
#define KERNELS_MAX       4096
#define MUTATED_BYTES_MAX 4096

/* ---- chance ---- */

static uint64_t state;

static uint32_t pick(size_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static int chance(unsigned percent) {
    return pick(100) < percent;
}

#define ONE_OF(list) ((list)[pick(sizeof(list) / sizeof((list)[0]))])

/* ---- a module ---- */

static char text[TEXT_BYTES_MAX];
static size_t size;
static unsigned odd; /* percent of pieces that are unusual or wrong */
static unsigned serial;

static void put(const char *piece) {
    size_t length = strlen(piece);
    if (size + length >= sizeof(text)) return;
    memcpy(text + size, piece, length);
    size += length;
}

/* What may stand between two tokens. */
static void gap(int needed) {
    static const char *const blanks[] = {" ", "\n", "\t", "\r\n", "  ", "\n\n"};
    static const char *const strange[] = {"/* x */",
                                          "/**/",
                                          "// .visible .entry fake() {\n",
                                          "/* .entry fake( { \" */",
                                          "\f",
                                          "\x1a",
                                          "\r",
                                          "\n#line 7 \"x\"\n",
                                          "# 3 \"a b\" 1\n",
                                          "/* // */",
                                          "// \"\n",
                                          "/***/",
                                          "/*/ */"};
    if (needed || chance(30)) put(ONE_OF(blanks));
    if (chance(odd)) put(ONE_OF(strange));
}

static void token(const char *word) {
    gap(1);
    put(word);
}

static const char *name(void) {
    static const char *const special[] = {"$k",    "%k",    "_k$x",    "__",  "$$",      "entry", "visible", "ret",
                                          "func",  "k%",    "9k",      "a-b", "a.b",     "%",     "_",       "$",
                                          "param", "\"k\"", "maxntid", "b32", "version", "L__1"};
    static char made[48];
    if (chance(odd)) return ONE_OF(special);
    if (chance(4)) return "twice";
    snprintf(made, sizeof(made), "%s%u", chance(50) ? "k" : "_ZN3abcE", serial++);
    return made;
}

static void number(unsigned limit) {
    static const char *const special[] = {"0",   "0x10",       "010",        "0b101", "32U", "08",
                                          "1.5", "4294967295", "4294967296", "0x",    "16u"};
    char made[16];
    gap(1);
    if (chance(odd)) {
        put(ONE_OF(special));
        return;
    }
    snprintf(made, sizeof(made), chance(10) ? "0x%x" : "%u", pick(limit) + 1);
    put(made);
}

static void parameter(void) {
    static const char *const types[] = {".u64", ".u32", ".b8",  ".s8",  ".u8",  ".u16", ".s16", ".b16",
                                        ".f16", ".s32", ".b32", ".f32", ".s64", ".b64", ".f64"};
    static const char *const strange[] = {".b128", ".texref", ".bf16", ".pred",  ".v2",
                                          ".v4",   ".u128",   ".reg",  ".f16x2", ".const"};
    static const char *const spaces[] = {".global", ".shared", ".const", ".local", ".param"};
    static const char *const alignments[] = {"1", "2", "4", "8", "16", "128"};
    token(chance(odd) && chance(20) ? ".reg" : ".param");
    if (chance(20)) {
        token(".align");
        token(chance(odd) ? "3" : ONE_OF(alignments));
    }
    if (chance(odd)) token(ONE_OF(strange));
    token(ONE_OF(types));
    if (chance(25)) {
        token(".ptr");
        if (chance(60)) token(spaces[pick(chance(odd) ? 5 : 4)]);
        if (chance(50)) {
            token(".align");
            token(ONE_OF(alignments));
        }
    }
    token(chance(odd) ? name() : "p");
    char made[16];
    snprintf(made, sizeof(made), "%u", serial++);
    put(made);
    if (chance(25)) {
        gap(0);
        put("[");
        if (!chance(odd)) number(64);
        gap(0);
        put("]");
    }
    gap(0);
}

static void parameters(void) {
    unsigned count = pick(4);
    gap(0);
    put("(");
    for (unsigned i = 0; i < count; i++) {
        if (i > 0) put(",");
        parameter();
    }
    if (chance(odd) && chance(10)) put(",");
    gap(0);
    put(")");
}

static void performance(void) {
    static const char *const triples[] = {".maxntid", ".reqntid", ".reqnctapercluster"};
    static const char *const singles[] = {".minnctapersm", ".maxnreg", ".maxclusterrank"};
    static const char *const bare[] = {
        ".explicitcluster", ".pragma \"nounroll\";", ".blocksareclusters", ".noreturn", ".foo", ";"};
    unsigned what = pick(10);
    if (what < 4) {
        token(ONE_OF(triples));
        number(64);
        if (chance(60))
            put(",");
        else
            return;
        number(4);
        if (chance(50)) return;
        put(",");
        number(2);
    } else if (what < 7) {
        token(ONE_OF(singles));
        number(32);
    } else {
        token(bare[pick(chance(odd) ? 6 : 2)]);
    }
}

static void body(void) {
    static const char *const lines[] = {"ret;",
                                        "{ .reg .b32 t; mov.b32 t, 1; }",
                                        "{ bra L; L: ret; }",
                                        "{ .loc 1 3 0\nret; }",
                                        ".pragma \"nounroll\";",
                                        "{ .shared .align 8 .b8 buf[64]; }",
                                        "// }\n",
                                        "/* { */",
                                        "{ { { ret; } } }",
                                        "{ .reg .f32 f; mov.f32 f, 0f3F800000; }",
                                        "{ .reg .f64 d; mov.f64 d, 1.5; }",
                                        "{ .reg .b32 entry; mov.u32 entry, 1; }"};
    static const char *const wrong[] = {
        ".entry z() { ret; }", ".visible .entry z() { ret; }", "}", "{", "\"", "/*", ".entry", "'"};
    gap(0);
    put("{");
    for (unsigned i = pick(4); i > 0; i--) {
        gap(1);
        put(ONE_OF(lines));
    }
    if (chance(odd) && chance(15)) put(ONE_OF(wrong));
    gap(1);
    put("ret; }");
}

static void entry(void) {
    static const char *const linkages[] = {".visible", ".weak", ".extern", ".common", ".visible .weak"};
    gap(1);
    if (chance(80)) put(linkages[pick(chance(odd) ? 5 : 2)]);
    gap(0);
    put(".entry");
    token(name());
    if (chance(85)) parameters();
    for (unsigned i = pick(3); i > 0; i--) performance();
    if (chance(8)) {
        gap(0);
        put(";");
        return;
    }
    body();
}

static void other(void) {
    static const char *const statements[] = {".file 1 \"a.entry fake(\"",
                                             ".file 2 \"a\nb { \", 12, 34",
                                             ".global .align 4 .b8 gNAME[8] = {1,2,3,4};",
                                             ".const .b32 cNAME = 7;",
                                             ".global .b32 entryNAME;",
                                             ".visible .global .b32 vNAME[2][2] = {{1,2},{3,4}};",
                                             ".extern .shared .align 16 .b8 sNAME[];",
                                             ".global .attribute(.managed) .b32 mNAME;",
                                             ".func fNAME() { ret; }",
                                             (".visible .func (.param .b32 r) hNAME(.param .b32 x) { .reg .b32 t; "
                                             "ld.param.b32 t,[x]; st.param.b32 [r],t; ret; }"),
                                             ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);",
                                             ".func nNAME() .noreturn { exit; }",
                                             ".section .debug_str { .b8 46,101,110,116,114,121,0 }",
                                             ".weak .func wNAME() { ret; }",
                                             ".extern .global .b32 eNAME;",
                                             ".global .texref rNAME;",
                                             ".visible .global .align 8 .u64 uNAME[1] = {0};",
                                             ".weak .global .b32 kNAME;",
                                             ".common .global .b32 oNAME;",
                                             ".visible .const .align 8 .f64 dNAME = 0d3FF0000000000000;"};
    static const char *const wrong[] = {";",
                                        ".loc 1 2 3",
                                        "L:",
                                        "}",
                                        "{ }",
                                        ".version 9.0",
                                        ".target sm_90",
                                        ".address_size 64",
                                        ".global .b32 x",
                                        ".alias a, b;",
                                        "# any\n",
                                        ".pragma \"x\";",
                                        ".entry",
                                        ". entry k() { ret; }",
                                        ".ENTRY k() { ret; }",
                                        ".entryx k() { ret; }"};
    char made[512];
    const char *from = chance(odd) ? ONE_OF(wrong) : ONE_OF(statements);
    size_t at = 0;
    while (*from != '\0' && at + 16 < sizeof(made)) {
        if (strncmp(from, "NAME", 4) == 0) {
            at += (size_t)snprintf(made + at, sizeof(made) - at, "%u", serial++);
            from += 4;
        } else {
            made[at++] = *from++;
        }
    }
    made[at] = '\0';
    token(made);
}

static void head(void) {
    static const char *const versions[] = {"9.0", "8.7", "8.0", "9.00", "7.8"};
    static const char *const targets[] = {
        "sm_90", "sm_90", "sm_90, texmode_unified", "sm_90 ,texmode_independent", "compute_90", "sm_90, sm_75"};
    static const char *const wrong[] = {"sm_90a, debug", "debug, sm_90", "sm_", "sm_9x", "90", "sm_90 sm_80"};
    if (chance(odd)) gap(1);
    /* ptxas reads these two as one word with blanks in it. */
    put(chance(odd) ? ".version\n" : ".version ");
    put(ONE_OF(versions));
    token(".target");
    token(chance(odd) && chance(20) ? ONE_OF(wrong) : ONE_OF(targets));
    if (chance(80)) token(chance(95) ? ".address_size 64" : ".address_size 0x40");
}

static void generate(void) {
    size = 0;
    serial = 0;
    odd = pick(4) == 0 ? 0 : pick(12);
    head();
    for (unsigned i = pick(5) + 1; i > 0; i--) {
        if (chance(50)) {
            entry();
        } else {
            other();
        }
    }
    gap(1);
}

/* ---- mutation ---- */

static void insert(size_t at, const char *piece, size_t length) {
    if (size + length >= sizeof(text)) return;
    memmove(text + at + length, text + at, size - at);
    memcpy(text + at, piece, length);
    size += length;
}

static void mutate(void) {
    static const char *const words[] = {".entry", ".visible", ".weak",   ".extern", ".func", ".param",
                                        ".align", ".ptr",     ".global", "k",       "{",     "}",
                                        "(",      ")",        "[",       "]",       ",",     ";",
                                        "=",      "\"",       "/*",      "*/",      "//",    "#line 1 \"x\"\n",
                                        "%",      "$",        ".",       "0",       " ",     "\n",
                                        "\r",     "\f",       "\x1a"};
    size_t at = pick(size + 1);
    size_t length = pick(6) + 1;
    char copy[64];
    switch (pick(5)) {
    case 0:
        if (at < size) text[at] = (char)(pick(95) + 32);
        break;
    case 1:
        if (at + length > size) break;
        memmove(text + at, text + at + length, size - at - length);
        size -= length;
        break;
    case 2:
        length = pick(sizeof(copy));
        if (at + length > size) break;
        memcpy(copy, text + at, length);
        insert(pick(size + 1), copy, length);
        break;
    default: {
        const char *word = ONE_OF(words);
        insert(at, word, strlen(word));
    }
    }
}

/* ---- files ---- */

static void path_of(char *out, size_t capacity, const char *directory, unsigned n, const char *extension) {
    snprintf(out, capacity, "%s/%u.%s", directory, n, extension);
}

static size_t read_file(const char *path, char *out, size_t capacity) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    size_t got = fread(out, 1, capacity, file);
    fclose(file);
    return got;
}

static void write_module(const char *directory, unsigned n) {
    char path[512];
    path_of(path, sizeof(path), directory, n, "ptx");
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static int make(const char *directory, unsigned count, char **fixtures, size_t fixture_count) {
    for (unsigned n = 0; n < count; n++) {
        if (fixture_count > 0 && chance(25)) {
            size = read_file(fixtures[pick(fixture_count)], text, MUTATED_BYTES_MAX);
        } else {
            generate();
        }
        if (chance(40)) {
            for (unsigned i = pick(2) + 1; i > 0; i--) mutate();
        }
        write_module(directory, n);
    }
    return 0;
}

/* ---- comparison ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names, sorted, one a line, in `out`. */
static void join(char **names, size_t count, char *out, size_t capacity) {
    size_t at = 0;
    qsort(names, count, sizeof(*names), by_text);
    out[0] = '\0';
    for (size_t i = 0; i < count && at < capacity; i++) {
        at += (size_t)snprintf(out + at, capacity - at, "%s ", names[i]);
    }
}

static void names_of_ptxas(char *log, char *out, size_t capacity) {
    static const char mark[] = "Compiling entry function '";
    char *names[KERNELS_MAX];
    size_t count = 0;
    for (char *at = strstr(log, mark); at != NULL && count < KERNELS_MAX; at = strstr(at, mark)) {
        at += sizeof(mark) - 1;
        names[count] = at;
        at = strchr(at, '\'');
        if (at == NULL) break;
        *at++ = '\0';
        count++;
    }
    join(names, count, out, capacity);
}

static void names_of_ours(const slwi_ptx_module *module, char *out, size_t capacity) {
    char *names[KERNELS_MAX];
    char *copy = malloc(TEXT_BYTES_MAX + KERNELS_MAX);
    char *at = copy;
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        slw_bytes name_bytes = module->kernels[i].name;
        names[i] = at;
        memcpy(at, name_bytes.data, name_bytes.size);
        at[name_bytes.size] = '\0';
        at += name_bytes.size + 1;
    }
    join(names, module->kernel_count, out, capacity);
    free(copy);
}

typedef struct tally {
    unsigned taken_by_both;
    unsigned empty;
    unsigned refused_by_both;
    unsigned taken_by_us;
    unsigned over_a_limit;
    unsigned different;
} tally;

static void check_one(const char *directory, unsigned n, tally *all) {
    static char log[1 << 20];
    static char theirs[TEXT_BYTES_MAX];
    static char ours[TEXT_BYTES_MAX];
    char path[512];
    char status[16] = "";
    path_of(path, sizeof(path), directory, n, "rc");
    status[read_file(path, status, sizeof(status) - 1)] = '\0';
    path_of(path, sizeof(path), directory, n, "log");
    log[read_file(path, log, sizeof(log) - 1)] = '\0';
    path_of(path, sizeof(path), directory, n, "ptx");
    size = read_file(path, text, sizeof(text));

    slw_allocator heap = SLW_ALLOCATOR_INIT;
    slw_error err = SLW_ERROR_INIT;
    slwi_ptx_module module;
    slw_code rc = slwi_ptx_scan(&heap, (slw_bytes){text, size}, path, &module, &err);
    ours[0] = '\0';
    if (rc == SLW_OK) {
        names_of_ours(&module, ours, sizeof(ours));
        slwi_ptx_release(&heap, &module);
    }
    if (atoi(status) != 0) {
        all->refused_by_both += rc != SLW_OK;
        all->taken_by_us += rc == SLW_OK;
        return;
    }
    names_of_ptxas(log, theirs, sizeof(theirs));
    int none = theirs[0] == '\0' && rc != SLW_OK && strcmp(err.reason, "NO_ENTRY") == 0;
    int same = rc == SLW_OK && strcmp(ours, theirs) == 0;
    all->empty += (unsigned)none;
    all->taken_by_both += (unsigned)same;
    if (none || same) return;
    if (rc == SLW_E_LIMIT) {
        all->over_a_limit += 1;
        return;
    }
    all->different += 1;
    printf("DIFFERENT %s: ptxas takes it: %s; we: %s %s at %u:%u %s\n", path, theirs, rc == SLW_OK ? ours : "refused,",
           err.reason != NULL ? err.reason : "", err.line, err.column, err.message);
}

static int check(const char *directory, unsigned count) {
    tally all = {0, 0, 0, 0, 0, 0};
    for (unsigned n = 0; n < count; n++) check_one(directory, n, &all);
    printf("ptx-diff: %u modules: %u taken by both with the same kernels, %u without a kernel, %u refused by both, "
           "%u refused by ptxas only, %u over a limit of ours, %u different\n",
           count, all.taken_by_both, all.empty, all.refused_by_both, all.taken_by_us,
           all.over_a_limit, all.different);
    return all.different != 0;
}

int main(int argc, char **argv) {
    if (argc >= 5 && strcmp(argv[1], "make") == 0) {
        state = strtoull(argv[4], NULL, 10) * 2654435761u + 0x9e3779b97f4a7c15u;
        return make(argv[2], (unsigned)strtoul(argv[3], NULL, 10), argv + 5, (size_t)argc - 5);
    }
    if (argc == 4 && strcmp(argv[1], "check") == 0) return check(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    fputs("usage: ptx_diff make DIRECTORY COUNT SEED [FIXTURE.ptx…] | check DIRECTORY COUNT\n", stderr);
    return 2;
}
