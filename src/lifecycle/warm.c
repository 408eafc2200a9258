/* The warm-up: all checked, the compilers opened, and then so many at a time.
 *
 * Workers take the next request, and wait with what came out until the calling thread has told it: so one listener is
 * called by one thread, and memory is that of the workers whatever the list is. */
#define SLIPWAY_NO_GUARDS
#include "warm_state.h"

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "os.h"

#define DIAGNOSTICS_BYTES 65536u

typedef enum slot_state { SLOT_BUSY, SLOT_READY, SLOT_ENDED } slot_state;

/* What one worker has made of one request, until it is told. */
typedef struct slot {
    struct warm *warm;
    slot_state state;  /* under the mutex */
    uint64_t sequence; /* of READY ones the lowest is told first */
    pthread_t thread;
    slw_warm_result result;
    slw_error error;
    char *diagnostics;
    slw_build_report report;
    slw_cached *cached;
} slot;

/* A compiler, for all requests of its backend and path. */
typedef struct opened {
    const slw_backend_vtable *backend;
    const char *path; /* or NULL */
    slw_compiler *compiler;
    slw_error error; /* why it is NULL */
} opened;

typedef struct warm {
    const slw_warm_options *options;
    slw_allocator allocator;
    const slw_warm_request *requests;
    size_t count;
    const slw_backend_vtable **backends; /* by request */
    size_t *compiler_of;                 /* by request */
    opened *compilers;
    size_t compiler_count;
    slot *slots;
    size_t slot_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t next; /* under the mutex: the first that nobody has taken */
    int stopped; /* likewise */
    uint64_t sequence;
    slw_warm_counts counts; /* of the calling thread */
    size_t done;
    slw_code first_code; /* of the problems */
    slw_error *err;
} warm;

/* ---- problems ---------------------------------------------------------------------------------------------------- */

/* Tells one and keeps the first. */
static void add_problem(warm *w, size_t index, const slw_error *problem) {
    if (w->first_code == SLW_OK) {
        w->first_code = problem->code;
        slwi_error_copy(w->err, problem);
    }
    if (w->options->problem != NULL) w->options->problem(w->options->context, index, problem);
}

typedef struct found_in {
    warm *warm;
    size_t index;
} found_in;

static void found_problem(void *context, slwi_warm_place place, const slw_error *problem) {
    const found_in *at = context;
    (void)place; /* the caller has no text */
    add_problem(at->warm, at->index, problem);
}

static void found_duplicate(void *context, size_t index, size_t earlier) {
    slw_error problem = SLW_ERROR_INIT;
    (void)slwi_warm_say_duplicate(&problem, earlier);
    add_problem(context, index, &problem);
}

static slw_code check_requests(warm *w, slw_error *err) {
    for (size_t i = 0; i < w->count; i++) {
        found_in at = {w, i};
        slwi_warm_check(&w->requests[i], w->options->compiler.backend_impl, &w->backends[i], found_problem, &at);
    }
    const slw_code rc =
        slwi_warm_duplicates(&w->allocator, w->requests, w->backends, w->count, found_duplicate, w, err);
    return rc != SLW_OK ? rc : w->first_code;
}

/* ---- compilers --------------------------------------------------------------------------------------------------- */

static int same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static slw_code open_compiler(warm *w, opened *out) {
    static const slw_error fresh = SLW_ERROR_INIT;
    slw_compiler_options options = w->options->compiler;
    options.allocator = w->allocator;
    options.compiler = out->path;
    if (options.backend_impl == NULL) options.backend = out->backend->name;
    out->error = fresh;
    return slw_compiler_open(&options, &out->compiler, &out->error);
}

/* Each that some request needs, once. One that cannot be opened is a problem of the list, or, where the others shall be
   built nevertheless, of its requests. */
static slw_code open_compilers(warm *w, slw_error *err) {
    for (size_t i = 0; i < w->count; i++) {
        const slw_backend_vtable *backend = w->backends[i];
        const char *path = w->requests[i].compiler;
        size_t at = 0;
        while (at < w->compiler_count &&
               (w->compilers[at].backend != backend || !same_text(w->compilers[at].path, path)))
            at++;
        w->compiler_of[i] = at;
        if (at < w->compiler_count) continue;
        opened *larger = slwi_realloc_array(&w->allocator, w->compilers, at + 1, sizeof *larger);
        if (larger == NULL) return slwi_fail_memory(err, (at + 1) * sizeof *larger);
        w->compilers = larger;
        w->compilers[at] = (opened){.backend = backend, .path = path};
        w->compiler_count++;
        const slw_code rc = open_compiler(w, &w->compilers[at]);
        if (rc == SLW_OK) continue;
        if (!w->options->keep_going || rc == SLW_E_NO_MEMORY || rc == SLW_E_USAGE)
            add_problem(w, i, &w->compilers[at].error);
    }
    return w->first_code;
}

/* ---- one request ------------------------------------------------------------------------------------------------- */

static int is_wanted(slw_warm_want want, slw_warm_status status) {
    if (want == SLW_WARM_PRIVATE) return status == SLW_WARM_BUILT_PRIVATE;
    return status == SLW_WARM_HIT || status == SLW_WARM_PUBLISHED;
}

static void begin_result(const warm *w, slot *s, size_t index) {
    static const slw_build_report no_report = SLW_BUILD_REPORT_INIT;
    static const slw_error fresh = SLW_ERROR_INIT;
    s->report = no_report;
    s->cached = NULL;
    s->error = fresh;
    s->error.diagnostics = s->diagnostics;
    s->error.diagnostics_capacity = s->diagnostics != NULL ? DIAGNOSTICS_BYTES : 0;
    if (s->diagnostics != NULL) s->diagnostics[0] = '\0';
    s->result = (slw_warm_result){.size = sizeof s->result,
                                  .index = index,
                                  .status = SLW_WARM_NOT_RUN,
                                  .backend = w->backends[index]->name,
                                  .reason = "",
                                  .total = w->count};
}

static void end_result(const warm *w, slot *s, slw_code rc) {
    static const slw_warm_status of[] = {SLW_WARM_HIT, SLW_WARM_PUBLISHED, SLW_WARM_BUILT_PRIVATE};
    slw_warm_result *result = &s->result;
    result->status = rc == SLW_OK ? of[s->report.disposition] : SLW_WARM_FAILED;
    result->as_wanted = is_wanted(w->requests[result->index].want, result->status);
    if (rc != SLW_OK) {
        result->error = &s->error;
        return;
    }
    const slw_key *key = slw_cached_key(s->cached);
    result->key = key != NULL ? slw_key_digest(key) : NULL;
    result->directory = slw_cached_directory(s->cached);
    result->reason = s->report.reason;
}

static void run_request(const warm *w, slot *s, size_t index) {
    const slw_warm_request *request = &w->requests[index];
    const opened *with = &w->compilers[w->compiler_of[index]];
    const uint64_t start_ns = slwi_now_ns();
    begin_result(w, s, index);
    slw_compile_options options = request->options;
    options.always_compile = request->want == SLW_WARM_PRIVATE;
    if (options.cancel == NULL) options.cancel = w->options->cancel;
    slw_code rc = with->error.code;
    if (with->compiler == NULL)
        slwi_error_copy(&s->error, &with->error);
    else
        rc = slw_compile(with->compiler, &request->source, &options, &s->report, &s->cached, &s->error);
    end_result(w, s, rc);
    s->result.duration_ns = slwi_now_ns() - start_ns;
}

/* On the calling thread. */
static void count_and_tell(warm *w, slw_warm_result *result) {
    size_t *const counters[] = {&w->counts.not_run, &w->counts.hits, &w->counts.published, &w->counts.built_private,
                                &w->counts.failed};
    (*counters[result->status])++;
    if (!result->as_wanted) w->counts.not_as_wanted++;
    result->done = ++w->done;
    if (w->options->listener != NULL) w->options->listener(w->options->context, result);
}

static void tell(warm *w, slot *s) {
    count_and_tell(w, &s->result);
    slw_cached_discard(&s->cached);
    slw_build_report_release(&s->report);
}

/* ---- several at a time ------------------------------------------------------------------------------------------- */

/* The next request: 1, or 0 when there is none or no more shall begin. Under the mutex. */
static int take_next(warm *w, size_t *index) {
    if (w->stopped || w->next == w->count || slw_cancel_requested(w->options->cancel)) return 0;
    *index = w->next++;
    return 1;
}

static int ends_all(const warm *w, const slw_warm_result *result) {
    return result->status == SLW_WARM_FAILED && !w->options->keep_going;
}

static void *work(void *context) {
    slot *s = context;
    warm *w = s->warm;
    size_t index = 0;
    (void)pthread_mutex_lock(&w->mutex);
    while (take_next(w, &index)) {
        (void)pthread_mutex_unlock(&w->mutex);
        run_request(w, s, index);
        (void)pthread_mutex_lock(&w->mutex);
        if (ends_all(w, &s->result)) w->stopped = 1;
        s->sequence = w->sequence++;
        s->state = SLOT_READY;
        (void)pthread_cond_broadcast(&w->changed);
        while (s->state == SLOT_READY) (void)pthread_cond_wait(&w->changed, &w->mutex);
    }
    s->state = SLOT_ENDED;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* The READY slot that has waited longest; NULL: none. *ended: all workers have. */
static slot *ready_slot(warm *w, size_t workers, int *ended) {
    slot *found = NULL;
    *ended = 1;
    for (size_t i = 0; i < workers; i++) {
        slot *s = &w->slots[i];
        if (s->state != SLOT_ENDED) *ended = 0;
        if (s->state == SLOT_READY && (found == NULL || s->sequence < found->sequence)) found = s;
    }
    return found;
}

static void listen_to_workers(warm *w, size_t workers) {
    int ended = 0;
    (void)pthread_mutex_lock(&w->mutex);
    for (;;) {
        slot *s = ready_slot(w, workers, &ended);
        if (s != NULL) {
            (void)pthread_mutex_unlock(&w->mutex);
            tell(w, s);
            (void)pthread_mutex_lock(&w->mutex);
            s->state = SLOT_BUSY;
            (void)pthread_cond_broadcast(&w->changed);
        } else if (ended) {
            break;
        } else {
            (void)pthread_cond_wait(&w->changed, &w->mutex);
        }
    }
    (void)pthread_mutex_unlock(&w->mutex);
    for (size_t i = 0; i < workers; i++) (void)pthread_join(w->slots[i].thread, NULL);
}

static void run_here(warm *w) {
    size_t index = 0;
    while (take_next(w, &index)) {
        run_request(w, &w->slots[0], index);
        if (ends_all(w, &w->slots[0].result)) w->stopped = 1;
        tell(w, &w->slots[0]);
    }
}

/* With fewer threads than were asked for it takes longer; without any this one does the work. */
static void run_all(warm *w) {
    size_t workers = 0;
    while (w->slot_count > 1 && workers < w->slot_count &&
           pthread_create(&w->slots[workers].thread, NULL, work, &w->slots[workers]) == 0)
        workers++;
    if (workers > 0)
        listen_to_workers(w, workers);
    else
        run_here(w);
    for (size_t i = w->next; i < w->count; i++) {
        begin_result(w, &w->slots[0], i);
        count_and_tell(w, &w->slots[0].result);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static slw_code check_options(const slw_warm_options *options, const slw_warm_request *requests, size_t count,
                              slw_error *err) {
    const slw_compiler_options *compiler = &options->compiler;
    if (options->size != sizeof *options || compiler->size != sizeof *compiler)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_warm_options of another version");
    if (compiler->store == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_warm needs a store");
    if (requests == NULL && count > 0) return slwi_fail(err, SLW_E_USAGE, NULL, "the requests are NULL");
    if (compiler->backend != NULL || compiler->compiler != NULL || compiler->target != NULL ||
        compiler->extension != NULL)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "backend, compiler and target are the requests' to say");
    if (options->jobs > SLW_LIMIT_WARM_JOBS) {
        slwi_error_amount(err, "jobs", options->jobs, SLW_LIMIT_WARM_JOBS, "jobs");
        return slwi_fail(err, SLW_E_LIMIT, "JOBS", "so many compiles at one time are not begun");
    }
    if (count <= SLW_LIMIT_WARM_REQUESTS)
        return compiler->backend_impl != NULL ? slwi_backend_check(compiler->backend_impl, err) : SLW_OK;
    slwi_error_amount(err, "requests", count, SLW_LIMIT_WARM_REQUESTS, "requests");
    return slwi_fail(err, SLW_E_LIMIT, "REQUESTS", "too many requests");
}

static size_t job_count(const warm *w) {
    const slwi_os *os = slwi_os_get();
    size_t jobs = w->options->jobs != 0 ? w->options->jobs : os->processors(os);
    if (jobs > SLW_LIMIT_WARM_JOBS) jobs = SLW_LIMIT_WARM_JOBS;
    if (jobs > w->count) jobs = w->count;
    return jobs > 0 ? jobs : 1;
}

static slw_code make_room(warm *w, slw_error *err) {
    const size_t count = w->count > 0 ? w->count : 1;
    w->backends = slwi_alloc_array(&w->allocator, count, sizeof(void *));
    w->compiler_of = slwi_alloc_array(&w->allocator, count, sizeof *w->compiler_of);
    const size_t slots = job_count(w);
    w->slots = slwi_alloc_array(&w->allocator, slots, sizeof *w->slots);
    if (w->backends == NULL || w->compiler_of == NULL || w->slots == NULL)
        return slwi_fail_memory(err, count * (sizeof(void *) + sizeof *w->compiler_of) + slots * sizeof *w->slots);
    memset(w->slots, 0, slots * sizeof *w->slots);
    for (w->slot_count = 0; w->slot_count < slots; w->slot_count++) {
        slot *s = &w->slots[w->slot_count];
        s->warm = w;
        s->state = SLOT_BUSY;
        s->diagnostics = slwi_alloc(&w->allocator, DIAGNOSTICS_BYTES);
        if (s->diagnostics == NULL) return slwi_fail_memory(err, DIAGNOSTICS_BYTES);
    }
    return SLW_OK;
}

static void free_warm(warm *w) {
    for (size_t i = 0; i < w->compiler_count; i++) slw_compiler_close(&w->compilers[i].compiler);
    for (size_t i = 0; i < w->slot_count; i++) slwi_free(&w->allocator, w->slots[i].diagnostics);
    slwi_free(&w->allocator, w->slots);
    slwi_free(&w->allocator, w->compilers);
    slwi_free(&w->allocator, w->compiler_of);
    slwi_free(&w->allocator, (void *)w->backends);
}

static slw_code run(warm *w, slw_error *err) {
    if (pthread_mutex_init(&w->mutex, NULL) != 0) return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex");
    if (pthread_cond_init(&w->changed, NULL) != 0) {
        (void)pthread_mutex_destroy(&w->mutex);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no condition");
    }
    run_all(w);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->mutex);
    if (slw_cancel_requested(w->options->cancel) && w->counts.failed + w->counts.not_run > 0)
        return slwi_fail(err, SLW_E_CANCELLED, NULL, "cancelled after %zu of %zu requests", w->done - w->counts.not_run,
                         w->count);
    return SLW_OK;
}

slw_code slw_warm(const slw_warm_options *options, const slw_warm_request *requests, size_t count,
                  slw_warm_counts *counts, slw_error *err) {
    slwi_error_reset(err);
    if (options == NULL || counts == NULL || counts->size != sizeof *counts)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_warm needs options and counts of this version");
    slw_code rc = check_options(options, requests, count, err);
    if (rc != SLW_OK) return rc;
    warm w = {.options = options, .requests = requests, .count = count, .counts = SLW_WARM_COUNTS_INIT, .err = err};
    rc = slwi_allocator_take(&options->allocator, &w.allocator, err);
    if (rc == SLW_OK) rc = make_room(&w, err);
    if (rc == SLW_OK) rc = check_requests(&w, err);
    if (rc == SLW_OK) rc = open_compilers(&w, err);
    if (rc == SLW_OK) rc = run(&w, err);
    free_warm(&w);
    if (rc == SLW_OK) *counts = w.counts;
    return rc;
}

const char *slw_warm_status_name(slw_warm_status status) {
    static const char *const names[] = {"NOT_RUN", "HIT", "PUBLISHED", "PRIVATE", "FAILED"};
    const unsigned index = (unsigned)status;
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}
