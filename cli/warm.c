/* warm: compiles what a configuration lists, so that later it is a hit. Standard error has a line for each request
   while it goes on; standard output has what came of all. */
#include "cli.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What became of one request. */
typedef struct outcome {
    slw_warm_status status;
    int as_wanted;
    uint64_t duration_ns;
    char *key, *reason;
    slw_error *error; /* with the compiler's words */
} outcome;

typedef struct problem {
    size_t request; /* SIZE_MAX: none alone */
    slw_error error;
} problem;

/* What became of the audit of one hit. */
typedef struct audit {
    char key[SLW_DIGEST_TEXT_SIZE];
    char backend[32], target[64], outcome[16];
    uint64_t duration_ns;
    int has_error;
    slw_error error; /* without the compiler's words */
} audit;

typedef struct warm {
    const cli_options *options;
    const char *path;
    char *directory; /* of the configuration, resolved */
    char *text;
    size_t text_size;
    cli_places places;
    slw_store *store;
    slw_memo *memo;
    slw_warm_config *config;
    slw_warm_request *requests; /* the configuration's, with what the command line says */
    size_t count;
    outcome *outcomes; /* by request */
    slw_warm_counts counts;
    problem *problems;
    size_t problem_count;
    slw_metrics *metrics; /* NULL without --audit */
    pthread_mutex_t lock; /* of the audits, which are told on the threads of the compiles */
    audit *audits;
    size_t audit_count, audits_differ;
    uint32_t jobs;
    uint64_t timeout_ns;
} warm;

static slw_code no_memory(slw_error *err) {
    err->code = SLW_E_NO_MEMORY;
    snprintf(err->message, sizeof err->message, "out of memory");
    return SLW_E_NO_MEMORY;
}

/* ---- before ------------------------------------------------------------------------------------------------------ */

static void on_problem(void *context, size_t request, const slw_error *error) {
    warm *w = context;
    problem *larger = realloc(w->problems, (w->problem_count + 1) * sizeof *larger);
    if (larger == NULL) return; /* the first one is told in any case */
    w->problems = larger;
    larger[w->problem_count].request = request;
    larger[w->problem_count].error = *error;
    larger[w->problem_count].error.diagnostics = NULL;
    larger[w->problem_count++].error.diagnostics_size = 0;
}

static slw_code parse_jobs(warm *w, slw_error *err) {
    char *end = NULL;
    const char *jobs = w->options->jobs;
    if (jobs == NULL) return SLW_OK;
    const unsigned long value = jobs[0] >= '0' && jobs[0] <= '9' ? strtoul(jobs, &end, 10) : 0;
    if (end == NULL || *end != '\0' || value == 0 || value > SLW_LIMIT_WARM_JOBS)
        return cli_usage(err, "BAD_VALUE", "--jobs: \"%s\" is no number from 1 to %u", jobs, SLW_LIMIT_WARM_JOBS);
    w->jobs = (uint32_t)value;
    return SLW_OK;
}

/* Where the configuration lies, so that its paths are the same from wherever the command is started. */
static slw_code find_directory(warm *w, slw_error *err) {
    char *whole = realpath(w->path, NULL);
    char *slash = whole != NULL ? strrchr(whole, '/') : NULL;
    if (slash == NULL) {
        err->code = errno == ENOMEM ? SLW_E_NO_MEMORY : SLW_E_STORAGE;
        snprintf(err->path, sizeof err->path, "%s", w->path);
        snprintf(err->message, sizeof err->message, "the configuration cannot be found: %s", strerror(errno));
        free(whole);
        return err->code;
    }
    slash[slash == whole] = '\0'; /* "/" stays */
    w->directory = whole;
    return SLW_OK;
}

static slw_code read_config(warm *w, slw_error *err) {
    slw_warm_config_options options = SLW_WARM_CONFIG_OPTIONS_INIT;
    slw_code code = cli_read_file(w->path, SLW_LIMIT_JSON_BYTES, &w->text, &w->text_size, err);
    if (code == SLW_OK) code = find_directory(w, err);
    if (code != SLW_OK) return code;
    options.directory = w->directory;
    options.name = w->path;
    options.problem = on_problem;
    options.context = w;
    return slw_warm_config_parse(&options, (slw_bytes){w->text, w->text_size}, &w->config, err);
}

/* --cc and SLIPWAY_CC name the host's compiler, where the configuration names none. */
static slw_code take_requests(warm *w, const char *host_compiler, slw_error *err) {
    const slw_warm_request *requests = slw_warm_config_requests(w->config, &w->count);
    w->requests = calloc(w->count + 1, sizeof *w->requests);
    w->outcomes = calloc(w->count + 1, sizeof *w->outcomes);
    if (w->requests == NULL || w->outcomes == NULL) return no_memory(err);
    for (size_t i = 0; i < w->count; i++) {
        w->requests[i] = requests[i];
        w->requests[i].options.timeout_ns = w->timeout_ns;
        if (requests[i].compiler == NULL && strcmp(requests[i].backend, "host") == 0)
            w->requests[i].compiler = host_compiler;
    }
    return SLW_OK;
}

static slw_code check_options(warm *w, slw_error *err) {
    if (w->options->read_only) return cli_usage(err, "READ_ONLY", "warm writes: it cannot be --read-only");
    if (w->options->no_cache) return cli_usage(err, "NO_CACHE", "warm fills the cache: it cannot be --no-cache");
    const slw_code code = parse_jobs(w, err);
    return code == SLW_OK ? cli_timeout(w->options, &w->timeout_ns, err) : code;
}

static void on_event(void *context, const slw_event *event);

static slw_code open_store(warm *w, slw_error *err) {
    slw_metrics_options metrics = SLW_METRICS_OPTIONS_INIT;
    metrics.listener = on_event;
    metrics.context = w;
    const slw_code code = w->options->audit ? slw_metrics_create(&metrics, &w->metrics, err) : SLW_OK;
    if (code != SLW_OK) return code;
    if (cli_find_places(w->options, &w->places, err) != 0) return err->code;
    if (w->places.cache == NULL) return cli_usage(err, "NO_CACHE", "there is no cache: %s", w->places.why_no_cache);
    w->memo = cli_open_memo(w->options, &w->places);
    return cli_open_store(w->options, &w->places, NULL, NULL, &w->store, err);
}

/* ---- while it goes on -------------------------------------------------------------------------------------------- */

static void on_event(void *context, const slw_event *event) {
    warm *w = context;
    if (event->phase != SLW_PHASE_AUDIT) return;
    (void)pthread_mutex_lock(&w->lock);
    w->audits_differ += strcmp(event->outcome, "DIFFERS") == 0;
    audit *larger = realloc(w->audits, (w->audit_count + 1) * sizeof *larger);
    if (larger != NULL) {
        w->audits = larger;
        audit *a = &larger[w->audit_count++];
        memset(a, 0, sizeof *a);
        snprintf(a->key, sizeof a->key, "%s", event->key != NULL ? event->key : "");
        snprintf(a->backend, sizeof a->backend, "%s", event->backend != NULL ? event->backend : "");
        snprintf(a->target, sizeof a->target, "%s", event->target != NULL ? event->target : "");
        snprintf(a->outcome, sizeof a->outcome, "%s", event->outcome);
        a->duration_ns = event->duration_ns;
        a->has_error = event->error != NULL;
        if (a->has_error) a->error = *event->error;
        a->error.diagnostics = NULL;
        a->error.diagnostics_size = 0;
    }
    (void)pthread_mutex_unlock(&w->lock);
}

static const char *target_of(const slw_warm_request *request) {
    return request->options.target != NULL ? request->options.target : "host";
}

/* As the configuration says it, as far as it lies below it. */
static const char *source_of(const warm *w, const slw_warm_request *request) {
    const size_t n = strlen(w->directory);
    const char *path = request->source.path;
    return strncmp(path, w->directory, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void say(const warm *w, const slw_warm_result *result) {
    const slw_warm_request *request = &w->requests[result->index];
    const slw_error *error = result->error;
    fprintf(stderr, "[%*zu/%zu] %-9s %s for %s, %.2f s", result->total > 99 ? 4 : 2, result->done, result->total,
            slw_warm_status_name(result->status), cli_plain(source_of(w, request)), cli_plain(target_of(request)),
            (double)result->duration_ns / 1e9);
    if (error != NULL) {
        fprintf(stderr, ": %s: %.200s", slw_code_name(error->code), cli_plain(error->message));
    } else if (result->reason[0] != '\0') {
        fprintf(stderr, ": %.200s", cli_plain(result->reason));
    }
    fputc('\n', stderr);
}

static char *copied(const char *text, size_t size) {
    char *copy = text != NULL ? malloc(size + 1) : NULL;
    if (copy == NULL) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* Without memory for a text it is left out. */
static void on_result(void *context, const slw_warm_result *result) {
    warm *w = context;
    outcome *o = &w->outcomes[result->index];
    o->status = result->status;
    o->as_wanted = result->as_wanted;
    o->duration_ns = result->duration_ns;
    if (result->key != NULL) o->key = copied(result->key, strlen(result->key));
    if (result->reason[0] != '\0') o->reason = copied(result->reason, strlen(result->reason));
    if (result->error != NULL && (o->error = malloc(sizeof *o->error)) != NULL) {
        *o->error = *result->error;
        o->error->diagnostics = copied(result->error->diagnostics, result->error->diagnostics_size);
        if (o->error->diagnostics == NULL) o->error->diagnostics_size = 0;
    }
    if (result->status != SLW_WARM_NOT_RUN) say(w, result);
}

static slw_code build(warm *w, slw_error *err) {
    slw_warm_options options = SLW_WARM_OPTIONS_INIT;
    cli_compiler_options(w->options, w->store, w->memo, 1, &options.compiler);
    slw_code code = take_requests(w, options.compiler.compiler, err);
    if (code != SLW_OK) return code;
    options.compiler.compiler = NULL;
    options.compiler.metrics = w->metrics;
    options.compiler.audits_per_million = w->options->audit ? 1000000 : 0;
    options.jobs = w->jobs != 0 ? w->jobs : slw_warm_config_jobs(w->config);
    options.keep_going = w->options->keep_going || slw_warm_config_keep_going(w->config);
    options.listener = on_result;
    options.problem = on_problem;
    options.context = w;
    options.cancel = cli_interrupt_token();
    cli_interrupt_begin();
    code = slw_warm(&options, w->requests, w->count, &w->counts, err);
    cli_interrupt_end();
    return code;
}

/* ---- after ------------------------------------------------------------------------------------------------------- */

static void put_counts(cli_json *json, const slw_warm_counts *counts) {
    put_object(json, "counts");
    put_u64(json, "hits", counts->hits);
    put_u64(json, "published", counts->published);
    put_u64(json, "private", counts->built_private);
    put_u64(json, "failed", counts->failed);
    put_u64(json, "not_run", counts->not_run);
    put_u64(json, "not_as_wanted", counts->not_as_wanted);
    put_end(json, '}');
}

static void put_audits(cli_json *json, const warm *w) {
    put_array(json, "audits");
    for (size_t i = 0; i < w->audit_count; i++) {
        const audit *a = &w->audits[i];
        put_object(json, NULL);
        put_text(json, "key", a->key);
        put_text(json, "backend", a->backend);
        put_text(json, "target", a->target);
        put_text(json, "outcome", a->outcome);
        put_u64(json, "duration_ns", a->duration_ns);
        if (a->has_error)
            put_error(json, "error", &a->error);
        else
            put_null(json, "error");
        put_end(json, '}');
    }
    put_end(json, ']');
}

static int print_json(const warm *w) {
    cli_json json;
    if (put_open(&json) != 0) return 3;
    put_array(&json, "requests");
    for (size_t i = 0; i < w->count; i++) {
        const outcome *o = &w->outcomes[i];
        const slw_warm_request *request = &w->requests[i];
        put_object(&json, NULL);
        put_text(&json, "source", source_of(w, request));
        put_text(&json, "backend", request->backend);
        put_text(&json, "target", request->options.target);
        put_text(&json, "want", request->want == SLW_WARM_PRIVATE ? "private" : "shared");
        put_text(&json, "status", slw_warm_status_name(o->status));
        put_bool(&json, "as_wanted", o->as_wanted);
        put_text(&json, "reason", o->reason);
        put_text(&json, "key", o->key);
        put_u64(&json, "duration_ns", o->duration_ns);
        if (o->error != NULL)
            put_error(&json, "error", o->error);
        else
            put_null(&json, "error");
        put_end(&json, '}');
    }
    put_end(&json, ']');
    put_counts(&json, &w->counts);
    if (w->options->audit) put_audits(&json, w);
    return put_close(&json);
}

/* The compiler's words of what failed, and one line of all. */
static int print_table(const warm *w) {
    for (size_t i = 0; i < w->count; i++) {
        const slw_error *error = w->outcomes[i].error;
        if (error == NULL || error->diagnostics == NULL || error->diagnostics_size == 0) continue;
        printf("%s for %s:\n", cli_plain(source_of(w, &w->requests[i])), cli_plain(target_of(&w->requests[i])));
        cli_put_lines(stdout, error->diagnostics);
        printf("\n");
    }
    for (size_t i = 0; i < w->audit_count; i++) {
        const audit *a = &w->audits[i];
        printf("audit %-10s %.12s %s %s%s%s\n", a->outcome, a->key, a->backend, a->target,
               a->error.message[0] != '\0' ? ": " : "", cli_plain(a->error.message));
    }
    printf("%zu hits, %zu published, %zu private, %zu failed, %zu not run", w->counts.hits, w->counts.published,
           w->counts.built_private, w->counts.failed, w->counts.not_run);
    printf(w->counts.not_as_wanted == 0 ? ": all as wanted\n" : ": %zu not as wanted\n", w->counts.not_as_wanted);
    return 0;
}

/* What is wrong with the configuration, all of it. */
static int print_problems(const warm *w, const slw_error *err) {
    const int status = slw_code_exit_status(err->code);
    if (!w->options->json) {
        for (size_t i = 0; i < w->problem_count; i++) {
            const slw_error *at = &w->problems[i].error;
            fprintf(stderr, "slipway: %s", cli_plain(at->path[0] != '\0' ? at->path : w->path));
            if (at->present & SLW_ERROR_HAS_LINE) fprintf(stderr, ":%u", at->line);
            if (at->present & SLW_ERROR_HAS_COLUMN) fprintf(stderr, ":%u", at->column);
            fprintf(stderr, ": %s%s%s: %s%s%s\n", slw_code_name(at->code), at->reason != NULL ? " " : "",
                    at->reason != NULL ? at->reason : "", cli_plain(at->message), at->subject[0] != '\0' ? ": " : "",
                    cli_plain(at->subject));
        }
        fprintf(stderr, "slipway: nothing was built\n");
        return status;
    }
    cli_json json;
    if (put_open(&json) != 0) return 3;
    put_error(&json, "error", err);
    put_array(&json, "problems");
    for (size_t i = 0; i < w->problem_count; i++) {
        put_object(&json, NULL);
        if (w->problems[i].request == SIZE_MAX)
            put_null(&json, "request");
        else
            put_u64(&json, "request", w->problems[i].request);
        put_error(&json, "error", &w->problems[i].error);
        put_end(&json, '}');
    }
    put_end(&json, ']');
    const int printed = put_close(&json);
    return printed != 0 ? printed : status;
}

static void finish(warm *w) {
    for (size_t i = 0; w->outcomes != NULL && i < w->count; i++) {
        if (w->outcomes[i].error != NULL) free(w->outcomes[i].error->diagnostics);
        free(w->outcomes[i].error);
        free(w->outcomes[i].key);
        free(w->outcomes[i].reason);
    }
    free(w->outcomes);
    free(w->requests);
    free(w->problems);
    free(w->audits);
    slw_warm_config_release(&w->config);
    slw_memo_close(&w->memo);
    slw_store_close(&w->store);
    slw_metrics_release(&w->metrics);
    cli_free_places(&w->places);
    free(w->directory);
    free(w->text);
}

int verb_warm(const cli_options *options, slw_error *err) {
    warm w = {.options = options, .path = options->files.items[0], .counts = SLW_WARM_COUNTS_INIT};
    if (pthread_mutex_init(&w.lock, NULL) != 0) {
        (void)no_memory(err);
        return cli_fail(options, err);
    }
    slw_code code = check_options(&w, err);
    if (code == SLW_OK) code = read_config(&w, err);
    if (code == SLW_OK) code = open_store(&w, err);
    if (code == SLW_OK) code = build(&w, err);
    int status;
    if (code != SLW_OK)
        status = w.problem_count > 0 ? print_problems(&w, err) : cli_fail(options, err);
    else if ((status = options->json ? print_json(&w) : print_table(&w)) == 0)
        status = w.counts.not_as_wanted > 0 || w.audits_differ > 0;
    finish(&w);
    (void)pthread_mutex_destroy(&w.lock);
    return status;
}
