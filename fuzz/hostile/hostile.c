/* How long each reader takes for files of 32 and 64 MiB that are made to hurt it: hostile [MIB [READER…]]. A line a file: what the
 * reader said, the seconds for half the size and the whole, and their ratio: about 2 where the time is linear. JSON is of an eighth of
 * the size, where its limit lies. HOSTILE_WORDS=1 tells the refusals' messages. The process's peak memory stands at the end of a reader's lines. */
#include <slipway/inspect.h>
#include <slipway/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "cubin_read.h"
#include "fatbin_read.h"
#include "host_reader.h"
#include "hostile.h"
#include "ptx/ptx_read.h"

typedef slw_code (*reader)(slw_bytes file, slw_error *err);

static slw_code done(slw_code rc, slw_contract *contract) {
    slwi_contract_free(NULL, &contract);
    return rc;
}

static slw_code read_ptx(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_ptx_read_contract(NULL, file, "cuda", NULL, &c, err);
    return done(rc, c);
}

static slw_code read_cubin(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_cubin_contract(NULL, file, NULL, &c, err);
    return done(rc, c);
}

static slw_code read_fatbin(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_fatbin_contract(NULL, file, NULL, "sm_90", &c, err);
    return done(rc, c);
}

static slw_code read_amdgcn(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_amdgcn_contract(NULL, file, NULL, &c, err);
    return done(rc, c);
}

static slw_code read_bundle(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_bundle_contract(NULL, file, NULL, "gfx90a", &c, err);
    return done(rc, c);
}

static slw_code read_host(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_code rc = slwi_host_read_contract(NULL, file, NULL, &c, err);
    return done(rc, c);
}

static slw_code read_contract(slw_bytes file, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 0};
    slwi_json_document *document = NULL;
    slw_contract *c = NULL;
    slw_code rc = slwi_json_parse(NULL, file, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_read(NULL, slwi_json_root(document), &c, err);
    slwi_json_free(&document);
    return done(rc, c);
}

static const char small_ptx[] = ".version 9.0\n.target sm_90\n.entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n"
                                ".reqntid 128\n{ ret; }\n";

static slw_code read_triton(slw_bytes file, slw_error *err) {
    slw_contract *c = NULL;
    const slw_bytes binary = {small_ptx, sizeof small_ptx - 1};
    const slw_code rc = slw_contract_read(NULL, binary, file, "k", NULL, &c, err);
    slw_contract_release(NULL, &c);
    return rc;
}

static slw_code inspect(slw_bytes file, slw_error *err) {
    slw_inspection *inspection = NULL;
    const slw_code rc = slw_inspect(NULL, file, &inspection, err);
    slw_inspection_discard(&inspection);
    return rc;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* the machine is shared */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best of three where it is short: the machine is shared, and caches and page tables are not. */
static double took(reader read, const blob *file, slw_code *code, slw_error *err) {
    static const slw_error fresh = SLW_ERROR_INIT;
    double best = 0;
    for (int i = 0; i < 3; i++) {
        *err = fresh;
        const double begin = now();
        *code = read((slw_bytes){file->data, file->size}, err);
        const double seconds = now() - begin;
        if (i == 0 || seconds < best) best = seconds;
        if (seconds > 1) break;
    }
    return best;
}

static void run_file(const char *kind, const hostile_file *file, reader read, size_t size) {
    double seconds[2];
    double bytes[2];
    slw_code code = SLW_OK;
    slw_error err;
    for (int i = 0; i < 2; i++) {
        blob made = {NULL, 0, 0};
        file->make(i == 0 ? size / 2 : size, &made);
        bytes[i] = (double)made.size / 1048576;
        seconds[i] = took(read, &made, &code, &err);
        blob_free(&made);
    }
    if (getenv("HOSTILE_WORDS") != NULL && code != SLW_OK) (void)fprintf(stderr, "%s: %s\n", file->name, err.message);
    const double ratio = seconds[0] > 0.005 ? seconds[1] / seconds[0] : 0;
    (void)printf("| %s | %s | %.0f, %.0f MiB | %s%s%s | %.3f | %.3f |", kind, file->name, bytes[0], bytes[1],
                 slw_code_name(code), err.reason != NULL ? " " : "", err.reason != NULL ? err.reason : "", seconds[0],
                 seconds[1]);
    if (ratio != 0)
        (void)printf(" %.1f |%s\n", ratio, ratio > 3.0 && seconds[1] > 0.2 ? " SUPERLINEAR" : "");
    else
        (void)printf(" – |\n");
    (void)fflush(stdout);
}

static void run(const char *kind, const hostile_file *files, reader read, size_t size) {
    struct rusage usage;
    for (; files->name != NULL; files++) run_file(kind, files, read, size);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("%s: peak memory so far %ld MiB\n", kind, usage.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
    static const struct {
        const char *kind;
        const hostile_file *files;
        reader read;
    } all[] = {
        {"ptx", hostile_ptx, read_ptx},
        {"cubin", hostile_cubin, read_cubin},
        {"fatbin", hostile_fatbin, read_fatbin},
        {"amdgcn", hostile_amdgcn, read_amdgcn},
        {"bundle", hostile_bundle, read_bundle},
        {"host", hostile_host, read_host},
        {"contract", hostile_contract, read_contract},
        {"triton", hostile_triton, read_triton},
        {"inspect", hostile_ptx, inspect},
        {"inspect", hostile_cubin, inspect},
        {"inspect", hostile_fatbin, inspect},
        {"inspect", hostile_amdgcn, inspect},
        {"inspect", hostile_bundle, inspect},
        {"inspect", hostile_host, inspect},
    };
    const size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 64) << 20;
    if (size == 0) {
        (void)fprintf(stderr, "usage: %s [MIB [READER…]]\n", argv[0]);
        return 2;
    }
    (void)printf(
        "| reader | file | sizes | answer | seconds, half | seconds, whole | ratio |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int wanted = argc <= 2;
        for (int a = 2; a < argc; a++) wanted |= strcmp(argv[a], all[i].kind) == 0;
        if (wanted) run(all[i].kind, all[i].files, all[i].read, size);
    }
    return 0;
}
