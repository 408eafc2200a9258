/* The slipway command: a thin user of the public headers. What verbs share. */
#ifndef SLIPWAY_CLI_H
#define SLIPWAY_CLI_H

#include <slipway/slipway.h>

#include <stdio.h>

#define CLI_MAX_LIST 256

/* Repeated options, in order. */
typedef struct cli_list {
    const char *items[CLI_MAX_LIST];
    size_t count;
} cli_list;

typedef struct cli_options {
    const char *verb;
    /* of every verb */
    const char *cache, *private_root, *memo, *identity, *verify, *cc, *device, *driver_library;
    int read_only, no_cache, trust_root, json, help, version;
    int verify_policy, identity_policy; /* SLW_VERIFY_…, SLW_IDENTITY_… */
    /* of some */
    const char *metrics, *trace;
    const char *domain, *entry, *grid, *block, *shared, *state, *spec, *expect, *tolerance, *timeout, *target, *cluster;
    const char *jobs;
    int openmetrics, audit, keep_going, probe, sass, cooperative, programmatic, non_portable_cluster, allow_ptx;
    cli_list args, flags, includes, files; /* files: what is not an option */
} cli_options;

/* Where things are, after options, environment and defaults were asked; all strings owned by the struct. */
typedef struct cli_places {
    char *cache;        /* NULL: no cache, `why_no_cache` says why */
    char *private_root; /* never NULL */
    char *memo;         /* NULL: none */
    char *temporary;    /* a directory of ours to remove at exit, or NULL */
    const char *why_no_cache;
} cli_places;

/* 0, or an exit status after the error was said. */
int cli_parse(int argc, char **argv, cli_options *out);
void cli_help(FILE *to);
int cli_find_places(const cli_options *options, cli_places *out, slw_error *err);
void cli_free_places(cli_places *places);

/* Opens the store that ls, show, verify and stats look at, read-only. The caller closes both, on failure too. */
slw_code cli_open_cache(const cli_options *options, cli_places *places, slw_store **store, slw_error *err);
struct json_object;
/* A JSON document beside a slot's payload, the caller's to put; NULL where there is none or it is none. */
struct json_object *cli_slot_document(const char *directory, const char *name);
const char *cli_member_text(struct json_object *object, const char *name); /* NULL: no text of that name */

/* SIGINT, SIGTERM and SIGHUP between the two request the token, which every store opened here has: interrupt.c. NULL:
   no memory for one. `obey` ends the command by the signal that came, once everything is given back. */
slw_cancel *cli_interrupt_token(void);
void cli_interrupt_begin(void);
void cli_interrupt_end(void);
int cli_interrupted(void); /* also where the build was done by then and did not notice */
void cli_interrupt_obey(void);

/* Opens the store of the places with the options. */
slw_code cli_open_store(const cli_options *options, const cli_places *places, const char *domain, slw_metrics *metrics,
                        slw_store **out, slw_error *err);
/* NULL: none is wanted, there is no place for one, or it cannot be used (which is said on standard error). */
slw_memo *cli_open_memo(const cli_options *options, const cli_places *places);

/* The compiler of --cc, SLIPWAY_CC, PATH or the system's directories, under the policy of --identity. */
slw_code cli_open_compiler(const cli_options *options, slw_store *store, slw_memo *memo, slw_compiler **out,
                           slw_error *err);

/* What it is opened with: the store, the memo, the policy, the search path; the compiler of --cc, or, for C, of
   SLIPWAY_CC, which names no other's. */
void cli_compiler_options(const cli_options *options, slw_store *store, slw_memo *memo, int is_c,
                          slw_compiler_options *out);

/* The same with the backend that has this target and begins with sources of this extension; both NULL: the host's. */
slw_code cli_open_compiler_for(const cli_options *options, slw_store *store, slw_memo *memo, const char *target,
                               const char *extension, slw_compiler **out, slw_error *err);

/* The device of --device (host when there is none) with --driver-library. */
slw_code cli_open_device(const cli_options *options, slw_device **out, slw_error *err);
/* The same with the kind there is when --device does not say, number 0. allow_ptx: as in slw_device_options. */
slw_code cli_open_device_of(const cli_options *options, const char *kind, int allow_ptx, slw_device **out,
                            slw_error *err);
/* The kind of --device into `kind`; empty when there is none. */
void cli_device_kind(const cli_options *options, char kind[16]);

/* For people: the text itself, or one of a few turns of static storage with control characters written out (\x1b). NULL
   stays NULL. */
const char *cli_plain(const char *text);
/* The same of several lines, with their ends and tabs, printed. */
void cli_put_lines(FILE *to, const char *text);

/* Says a failure, as {"error": …} on standard output with --json, else on standard error; gives the exit status. */
int cli_fail(const cli_options *options, const slw_error *err);
/* SECONDS of --timeout in nanoseconds; 0 without the option. USAGE. */
slw_code cli_timeout(const cli_options *options, uint64_t *out_ns, slw_error *err);
/* A number of an option that is finite and not negative, whole text. */
slw_code cli_number(const char *text, const char *option, double *out, slw_error *err);
/* Sets a USAGE error and returns the code. */
slw_code cli_usage(slw_error *err, const char *reason, const char *format, ...) SLW_PRINTF(3, 4);

/* A whole file (links followed), at most `limit_bytes`; malloc'ed and NUL-terminated. */
slw_code cli_read_file(const char *path, size_t limit_bytes, char **out, size_t *size, slw_error *err);

/* The files of --metrics and --trace: those of the two that are asked for, both tried, the first failure told. */
slw_code cli_write_metrics(const cli_options *options, const slw_metrics *metrics, slw_error *err);

/* Bytes of the UTF-8 character at `at`, of which `left` are there; 0: there is none. */
size_t cli_utf8(const unsigned char *at, size_t left);

/* ---- JSON out: collected in memory, so that standard output is one document or none ---- */
typedef struct cli_json {
    FILE *to;
    char *text;
    size_t size;
    int depth;
    char first[64];
} cli_json;
int put_open(cli_json *json);  /* begins the document's object; 0, or 3 without memory */
int put_close(cli_json *json); /* ends it, prints it, frees it; 0, or 4 when standard output failed */
void put_drop(cli_json *json); /* frees without printing */
/* key NULL inside arrays. text NULL is null. */
void put_object(cli_json *json, const char *key);
void put_array(cli_json *json, const char *key);
void put_end(cli_json *json, char bracket); /* '}' or ']' */
void put_text(cli_json *json, const char *key, const char *text);
void put_bytes(cli_json *json, const char *key, slw_bytes raw);
void put_u64(cli_json *json, const char *key, uint64_t value);
void put_i64(cli_json *json, const char *key, int64_t value);
void put_f64(cli_json *json, const char *key, double value);
void put_f32(cli_json *json, const char *key, float value);
void put_bool(cli_json *json, const char *key, int value);
void put_null(cli_json *json, const char *key);
void put_raw(cli_json *json, const char *key, const char *json_text, size_t size); /* a document, verbatim */
void put_error(cli_json *json, const char *key, const slw_error *err);

/* ---- verbs: each gives the exit status ---- */
int verb_run(const cli_options *options, slw_error *err);
int verb_ls(const cli_options *options, slw_error *err);
int verb_show(const cli_options *options, slw_error *err);
int verb_verify(const cli_options *options, slw_error *err);
int verb_digest(const cli_options *options, slw_error *err);
int verb_lookup(const cli_options *options, slw_error *err);
int verb_put(const cli_options *options, slw_error *err);
int verb_get(const cli_options *options, slw_error *err);
int verb_inspect(const cli_options *options, slw_error *err);
int verb_stats(const cli_options *options, slw_error *err);
int verb_doctor(const cli_options *options, slw_error *err);
int verb_why(const cli_options *options, slw_error *err);
int verb_warm(const cli_options *options, slw_error *err);

#endif
