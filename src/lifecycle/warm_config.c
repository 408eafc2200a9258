/* The configuration of a warm-up: JSON to requests, with every problem told where it stands. docs/warm.md. */
#define SLIPWAY_NO_GUARDS
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "json_place.h"
#include "memory.h"
#include "warm_state.h"

#define SCHEMA       1u
#define PROBLEMS_MAX 256u /* are told; each has to be found in the text */

/* Where a request comes from: an item of `requests`, and of its `targets`. */
typedef struct origin {
    size_t request, target;
} origin;

struct slw_warm_config {
    slw_allocator allocator;
    slwi_json_document *document; /* texts are its */
    void **owned;                 /* paths and arrays */
    size_t owned_count, owned_room;
    slw_warm_request *requests;
    const slw_backend_vtable **backends;
    origin *origins;
    size_t count, room;
    uint32_t jobs;
    int keep_going;
};

typedef struct parse {
    slw_warm_config *config;
    const slw_warm_config_options *options;
    slw_bytes text;
    const slwi_json *root;
    slw_error *err;
    slw_code first; /* of the problems */
    size_t problems;
    slw_code fatal; /* NO_MEMORY or LIMIT: nothing more is read */
} parse;

/* Member and item numbers that lead to a value. */
typedef struct way {
    size_t steps[4];
    size_t count;
} way;

static way step(way from, size_t number) {
    from.steps[from.count++] = number;
    return from;
}

static way to_member(way from, const slwi_json *object, const char *name) {
    if (slwi_json_get(object, name) == NULL) return from;
    return step(from, slwi_json_member_number(object, (slw_bytes){name, strlen(name)}));
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static void tell(parse *p, way at, slw_error *problem) {
    if (p->problems++ >= PROBLEMS_MAX) return;
    slwi_json_place(p->text, at.steps, at.count, problem);
    if (p->options->name != NULL) slwi_error_path(problem, p->options->name);
    if (p->first == SLW_OK) {
        p->first = problem->code;
        slwi_error_copy(p->err, problem);
    }
    const int of_request = at.count >= 2 && at.steps[0] == slwi_json_member_number(p->root, (slw_bytes){"requests", 8});
    if (p->options->problem != NULL)
        p->options->problem(p->options->context, of_request ? at.steps[1] : SIZE_MAX, problem);
}

static void bad(parse *p, way at, const char *reason, slw_bytes subject, const char *format, ...) SLW_PRINTF(5, 6);
static void bad(parse *p, way at, const char *reason, slw_bytes subject, const char *format, ...) {
    slw_error problem = SLW_ERROR_INIT;
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    slwi_error_subject(&problem, subject.data, subject.size);
    (void)slwi_fail(&problem, SLW_E_INVALID_METADATA, reason, "%s", message);
    tell(p, at, &problem);
}

static slw_bytes bytes_of(const char *text) {
    return (slw_bytes){text, strlen(text)};
}

static void out_of_memory(parse *p, size_t size) {
    p->fatal = slwi_fail_memory(p->err, size);
}

static void *own(parse *p, void *memory, size_t size) {
    slw_warm_config *c = p->config;
    if (memory != NULL && c->owned_count == c->owned_room) {
        const size_t room = c->owned_room * 2 + 16;
        void **larger = slwi_realloc_array(&c->allocator, c->owned, room, sizeof *larger);
        if (larger == NULL) {
            slwi_free(&c->allocator, memory);
            memory = NULL;
        } else {
            c->owned = larger;
            c->owned_room = room;
        }
    }
    if (memory == NULL)
        out_of_memory(p, size);
    else
        c->owned[c->owned_count++] = memory;
    return memory;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void check_members(parse *p, way at, const slwi_json *object, const char *const *known) {
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value = NULL;
    for (size_t number = 0; slwi_json_member(object, &cursor, &name, &value); number++) {
        size_t i = 0;
        while (known[i] != NULL && (strlen(known[i]) != name.size || memcmp(known[i], name.data, name.size) != 0)) i++;
        if (known[i] == NULL) bad(p, step(at, number), "UNKNOWN_MEMBER", name, "there is no member of this name");
    }
}

/* Text that is not empty and ends at its NUL. */
static int plain_text(const slwi_json *node, const char **out) {
    slw_bytes text;
    if (!slwi_json_string(node, &text) || text.size == 0 || memchr(text.data, 0, text.size) != NULL) return 0;
    *out = text.data;
    return 1;
}

static void read_text(parse *p, way at, const slwi_json *object, const char *name, const char **out) {
    const slwi_json *node = slwi_json_get(object, name);
    if (node == NULL || plain_text(node, out)) return;
    bad(p, to_member(at, object, name), "BAD_VALUE", bytes_of(name), "%s is a text, not empty and without NUL", name);
}

static void read_truth(parse *p, way at, const slwi_json *object, const char *name, int *out) {
    const slwi_json *node = slwi_json_get(object, name);
    if (node == NULL || slwi_json_bool(node, out)) return;
    bad(p, to_member(at, object, name), "BAD_VALUE", bytes_of(name), "%s is true or false", name);
}

static void read_texts(parse *p, way at, const slwi_json *object, const char *name, const char *const **out,
                       size_t *count) {
    const slwi_json *array = slwi_json_get(object, name);
    const way here = to_member(at, object, name);
    if (array == NULL) return;
    if (slwi_json_kind(array) != SLWI_JSON_ARRAY) {
        bad(p, here, "BAD_VALUE", bytes_of(name), "%s is an array of texts", name);
        return;
    }
    const size_t length = slwi_json_length(array);
    if (length == 0) return;
    const char **texts = own(p, slwi_alloc_array(&p->config->allocator, length, sizeof *texts), length * sizeof *texts);
    if (texts == NULL) return;
    for (size_t i = 0; i < length; i++) {
        texts[i] = "";
        if (!plain_text(slwi_json_item(array, i), &texts[i]))
            bad(p, step(here, i), "BAD_VALUE", bytes_of(name), "%s holds texts, not empty and without NUL", name);
    }
    *out = texts;
    *count = length;
}

/* A path of the configuration begins at its directory. */
static const char *place_path(parse *p, const char *path) {
    const char *directory = p->options->directory;
    if (path == NULL || path[0] == '/' || directory == NULL || directory[0] == '\0') return path;
    const size_t size = strlen(directory) + 1 + strlen(path) + 1;
    char *joined = own(p, slwi_alloc(&p->config->allocator, size), size);
    if (joined != NULL) (void)snprintf(joined, size, "%s/%s", directory, path);
    return joined;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* One item of `requests`. */
typedef struct item {
    const slwi_json *object;
    way at;
    const char *target;
    const char *const *targets;
    size_t target_count;
    slw_warm_request request; /* of every target, without it */
} item;

static void read_want(parse *p, item *r) {
    const char *want = NULL;
    read_text(p, r->at, r->object, "want", &want);
    if (want == NULL || strcmp(want, "shared") == 0) return;
    if (strcmp(want, "private") == 0)
        r->request.want = SLW_WARM_PRIVATE;
    else
        bad(p, to_member(r->at, r->object, "want"), "BAD_VALUE", bytes_of(want), "want is \"shared\" or \"private\"");
}

static void read_roots(parse *p, item *r) {
    slw_source *source = &r->request.source;
    const char *const *roots = NULL;
    read_texts(p, r->at, r->object, "include_roots", &roots, &source->include_root_count);
    if (roots == NULL) return;
    const size_t size = source->include_root_count * sizeof *roots;
    const char **placed = own(p, slwi_alloc(&p->config->allocator, size), size);
    for (size_t i = 0; placed != NULL && i < source->include_root_count; i++) placed[i] = place_path(p, roots[i]);
    source->include_roots = placed;
}

static void read_source(parse *p, item *r) {
    slw_source *source = &r->request.source;
    const char *path = NULL;
    read_text(p, r->at, r->object, "source", &path);
    if (slwi_json_get(r->object, "source") == NULL)
        bad(p, r->at, "MISSING_MEMBER", bytes_of("source"), "a request has a source");
    source->path = place_path(p, path);
    read_text(p, r->at, r->object, "name", &source->name);
    read_text(p, r->at, r->object, "extension", &source->extension);
    read_roots(p, r);
}

static void read_targets(parse *p, item *r) {
    read_text(p, r->at, r->object, "target", &r->target);
    read_texts(p, r->at, r->object, "targets", &r->targets, &r->target_count);
    const slwi_json *targets = slwi_json_get(r->object, "targets");
    if (targets == NULL) return;
    const way here = to_member(r->at, r->object, "targets");
    if (slwi_json_get(r->object, "target") != NULL)
        bad(p, here, "BAD_VALUE", bytes_of("targets"), "a request has either a target or targets");
    else if (slwi_json_kind(targets) == SLWI_JSON_ARRAY && slwi_json_length(targets) == 0)
        bad(p, here, "BAD_VALUE", bytes_of("targets"), "targets without one is a request for nothing");
}

static void read_item(parse *p, item *r) {
    static const char *const known[] = {"backend",           "extension", "flags",   "include_roots", "name", "source",
                                        "store_binary_only", "target",    "targets", "want",          NULL};
    slw_compile_options *options = &r->request.options;
    if (slwi_json_kind(r->object) != SLWI_JSON_OBJECT) {
        bad(p, r->at, "BAD_VALUE", bytes_of("requests"), "a request is an object");
        return;
    }
    check_members(p, r->at, r->object, known);
    read_source(p, r);
    read_text(p, r->at, r->object, "backend", &r->request.backend);
    read_targets(p, r);
    read_texts(p, r->at, r->object, "flags", &options->flags, &options->flag_count);
    read_truth(p, r->at, r->object, "store_binary_only", &options->store_binary_only);
    read_want(p, r);
}

static const char *compiler_of(parse *p, const char *backend) {
    const slwi_json *compilers = slwi_json_get(p->root, "compilers");
    const char *path = NULL;
    if (slwi_json_kind(compilers) != SLWI_JSON_OBJECT) return NULL;
    if (!plain_text(slwi_json_get(compilers, backend), &path)) return NULL;
    return strchr(path, '/') != NULL ? place_path(p, path) : path; /* a mere name is looked for */
}

static int make_room(parse *p) {
    slw_warm_config *c = p->config;
    if (c->count < c->room) return 1;
    if (c->count >= SLW_LIMIT_WARM_REQUESTS) {
        slwi_error_amount(p->err, "requests", c->count + 1, SLW_LIMIT_WARM_REQUESTS, "requests");
        p->fatal = slwi_fail(p->err, SLW_E_LIMIT, "REQUESTS", "too many requests");
        return 0;
    }
    const size_t room = c->room * 2 + 16;
    slw_warm_request *requests = slwi_realloc_array(&c->allocator, c->requests, room, sizeof *requests);
    if (requests != NULL) c->requests = requests;
    const slw_backend_vtable **backends = slwi_realloc_array(&c->allocator, (void *)c->backends, room, sizeof(void *));
    if (backends != NULL) c->backends = backends;
    origin *origins = slwi_realloc_array(&c->allocator, c->origins, room, sizeof *origins);
    if (origins != NULL) c->origins = origins;
    if (requests == NULL || backends == NULL || origins == NULL) {
        out_of_memory(p, room * sizeof *requests);
        return 0;
    }
    c->room = room;
    return 1;
}

/* The place in the text of what slwi_warm_check found. */
static way way_of(const item *r, slwi_warm_place place, size_t target) {
    switch (place.field) {
    case SLWI_WARM_SOURCE:
        return to_member(r->at, r->object, "source");
    case SLWI_WARM_BACKEND: /* one that is not named follows from the target */
        if (r->request.backend != NULL) return to_member(r->at, r->object, "backend");
        /* fall through */
    case SLWI_WARM_TARGET:
        if (r->targets != NULL) return step(to_member(r->at, r->object, "targets"), target);
        return to_member(r->at, r->object, "target");
    case SLWI_WARM_EXTENSION:
        return to_member(r->at, r->object, "extension");
    case SLWI_WARM_ROOT:
        return step(to_member(r->at, r->object, "include_roots"), place.item);
    default:
        return r->at;
    }
}

typedef struct found_in {
    parse *p;
    const item *r;
    size_t target;
} found_in;

/* What is wrong with every target alike is told at the first. */
static void found_problem(void *context, slwi_warm_place place, const slw_error *problem) {
    const found_in *at = context;
    const int of_target =
        place.field == SLWI_WARM_TARGET || (place.field == SLWI_WARM_BACKEND && at->r->request.backend == NULL);
    if (at->target > 0 && !of_target) return;
    slw_error own = SLW_ERROR_INIT;
    slwi_error_copy(&own, problem);
    tell(at->p, way_of(at->r, place, at->target), &own);
}

/* One request for each target. */
static void add_requests(parse *p, const item *r, size_t number) {
    const size_t count = r->targets != NULL ? r->target_count : 1;
    for (size_t i = 0; i < count && p->fatal == SLW_OK && make_room(p); i++) {
        slw_warm_config *c = p->config;
        slw_warm_request request = r->request;
        const slw_backend_vtable *backend = NULL;
        found_in at = {p, r, i};
        request.options.target = r->targets != NULL ? r->targets[i] : r->target;
        slwi_warm_check(&request, NULL, &backend, found_problem, &at);
        if (backend == NULL) continue;
        request.backend = backend->name;
        request.compiler = compiler_of(p, backend->name);
        c->requests[c->count] = request;
        c->backends[c->count] = backend;
        c->origins[c->count++] = (origin){number, i};
    }
}

static void found_duplicate(void *context, size_t index, size_t earlier) {
    parse *p = context;
    const origin *from = &p->config->origins[index];
    const slwi_json *requests = slwi_json_get(p->root, "requests");
    item r = {.object = slwi_json_item(requests, from->request)};
    r.at = step(to_member((way){{0}, 0}, p->root, "requests"), from->request);
    way at = r.at;
    if (slwi_json_get(r.object, "targets") != NULL) at = step(to_member(r.at, r.object, "targets"), from->target);
    bad(p, at, "DUPLICATE", bytes_of("requests"), "the same is asked for by requests[%zu]",
        p->config->origins[earlier].request);
}

static void read_requests(parse *p) {
    const way at = to_member((way){{0}, 0}, p->root, "requests");
    const slwi_json *array = slwi_json_get(p->root, "requests");
    if (array == NULL || slwi_json_kind(array) != SLWI_JSON_ARRAY) {
        bad(p, at, array == NULL ? "MISSING_MEMBER" : "BAD_VALUE", bytes_of("requests"), "requests is an array");
        return;
    }
    const size_t count = slwi_json_length(array);
    for (size_t i = 0; i < count && p->fatal == SLW_OK; i++) {
        item r = {.object = slwi_json_item(array, i), .at = step(at, i), .request = SLW_WARM_REQUEST_INIT};
        const size_t before = p->problems;
        read_item(p, &r);
        /* What cannot be read as it stands is not asked about further. */
        if (p->problems == before && p->fatal == SLW_OK) add_requests(p, &r, i);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void read_compilers(parse *p) {
    const slwi_json *object = slwi_json_get(p->root, "compilers");
    const way at = to_member((way){{0}, 0}, p->root, "compilers");
    if (object == NULL) return;
    if (slwi_json_kind(object) != SLWI_JSON_OBJECT) {
        bad(p, at, "BAD_VALUE", bytes_of("compilers"), "compilers is an object of backends and paths");
        return;
    }
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value = NULL;
    for (size_t number = 0; slwi_json_member(object, &cursor, &name, &value); number++) {
        const char *path = NULL;
        if (memchr(name.data, 0, name.size) != NULL || slw_backend_find(name.data) == NULL)
            bad(p, step(at, number), "NO_BACKEND", name, "there is no backend of this name");
        else if (!plain_text(value, &path))
            bad(p, step(at, number), "BAD_VALUE", name, "a compiler is a path or a name");
    }
}

static void read_numbers(parse *p) {
    const way top = {{0}, 0};
    const slwi_json *schema = slwi_json_get(p->root, "schema");
    const slwi_json *jobs = slwi_json_get(p->root, "jobs");
    uint32_t value = 0;
    if (schema == NULL)
        bad(p, top, "MISSING_MEMBER", bytes_of("schema"), "schema is missing: this version reads %u", SCHEMA);
    else if (!slwi_json_u32(schema, &value) || value != SCHEMA)
        bad(p, to_member(top, p->root, "schema"), "SCHEMA", bytes_of("schema"), "this version reads schema %u", SCHEMA);
    if (jobs != NULL && (!slwi_json_u32(jobs, &value) || value == 0 || value > SLW_LIMIT_WARM_JOBS))
        bad(p, to_member(top, p->root, "jobs"), "BAD_VALUE", bytes_of("jobs"), "jobs is a number from 1 to %u",
            SLW_LIMIT_WARM_JOBS);
    else if (jobs != NULL)
        p->config->jobs = value;
    read_truth(p, top, p->root, "keep_going", &p->config->keep_going);
}

static slw_code read_root(parse *p) {
    static const char *const known[] = {"compilers", "jobs", "keep_going", "requests", "schema", NULL};
    const way top = {{0}, 0};
    if (slwi_json_kind(p->root) != SLWI_JSON_OBJECT) {
        bad(p, top, "BAD_VALUE", bytes_of("document"), "a configuration is an object");
        return p->first;
    }
    check_members(p, top, p->root, known);
    read_numbers(p);
    read_compilers(p);
    read_requests(p);
    slw_warm_config *c = p->config;
    if (p->fatal == SLW_OK)
        p->fatal = slwi_warm_duplicates(&c->allocator, c->requests, c->backends, c->count, found_duplicate, p, p->err);
    return p->fatal != SLW_OK ? p->fatal : p->first;
}

static slw_code read_text_of_all(parse *p, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 0};
    slw_error problem = SLW_ERROR_INIT;
    const slw_code rc = slwi_json_parse(&p->config->allocator, p->text, &limits, &p->config->document, &problem);
    if (rc != SLW_OK) {
        if (p->options->name != NULL) slwi_error_path(&problem, p->options->name);
        slwi_error_copy(err, &problem);
        if (rc != SLW_E_NO_MEMORY && p->options->problem != NULL)
            p->options->problem(p->options->context, SIZE_MAX, &problem);
        return rc;
    }
    p->root = slwi_json_root(p->config->document);
    return read_root(p);
}

slw_code slw_warm_config_parse(const slw_warm_config_options *options, slw_bytes json, slw_warm_config **out,
                               slw_error *err) {
    slwi_error_reset(err);
    if (options == NULL || options->size != sizeof *options || out == NULL || json.data == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_warm_config_parse needs options, a text and `out`");
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_warm_config *config = slwi_alloc_zero(&allocator, sizeof *config);
    if (config == NULL) return slwi_fail_memory(err, sizeof *config);
    config->allocator = allocator;
    parse p = {.config = config, .options = options, .text = json, .err = err};
    rc = read_text_of_all(&p, err);
    if (rc == SLW_OK)
        *out = config;
    else
        slw_warm_config_release(&config);
    return rc;
}

void slw_warm_config_release(slw_warm_config **config) {
    if (config == NULL || *config == NULL) return;
    slw_warm_config *c = *config;
    *config = NULL;
    const slw_allocator allocator = c->allocator;
    for (size_t i = 0; i < c->owned_count; i++) slwi_free(&allocator, c->owned[i]);
    slwi_free(&allocator, c->owned);
    slwi_free(&allocator, c->requests);
    slwi_free(&allocator, (void *)c->backends);
    slwi_free(&allocator, c->origins);
    slwi_json_free(&c->document);
    slwi_free(&allocator, c);
}

const slw_warm_request *slw_warm_config_requests(const slw_warm_config *config, size_t *count) {
    if (count != NULL) *count = config != NULL ? config->count : 0;
    return config != NULL ? config->requests : NULL;
}

uint32_t slw_warm_config_jobs(const slw_warm_config *config) {
    return config != NULL ? config->jobs : 0;
}

int slw_warm_config_keep_going(const slw_warm_config *config) {
    return config != NULL && config->keep_going;
}
