/* stats: how much the cache holds. Counters live in the process that counts; what a command can tell is what lies in
 * the store. It is looked at as by ls: manifests and sizes, no lock, nothing written. */
#include "cli.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_GROUPS 256 /* (backend, target) pairs counted apart; the rest in one group more */
#define LABEL_SIZE 64

typedef struct amount {
    uint64_t entries, size_bytes, files;
} amount;

typedef struct group {
    char backend[LABEL_SIZE], target[LABEL_SIZE]; /* "": the entry does not say */
    amount held;
} group;

static const struct age {
    const char *name;
    uint64_t within_seconds; /* 0: no bound */
} ages[] = {
    {"1h", 3600}, {"1d", 86400}, {"7d", 604800}, {"30d", 2592000}, {"365d", 31536000}, {"older", 0}, {"unknown", 0},
};
#define AGES    (sizeof ages / sizeof *ages)
#define OLDER   (AGES - 2)
#define UNKNOWN (AGES - 1)

typedef struct stats {
    uint64_t now_ns, oldest_ns, newest_ns; /* 0: not known */
    uint64_t invalid, storage_errors;
    amount all, generated, ready;
    amount by_age[AGES];
    size_t group_count;
    group groups[MAX_GROUPS + 1]; /* in order; the last one in use is the rest when `rest` */
    amount rest;
} stats;

static void add(amount *to, const slw_slot_info *slot) {
    to->entries++;
    to->size_bytes += slot->size_bytes;
    to->files += slot->files;
}

/* Whole characters as long as they fit; what is no UTF-8 as '?': entries are written by anybody. */
static void set_label(char out[LABEL_SIZE], const char *text) {
    const size_t size = text != NULL ? strlen(text) : 0;
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        const size_t n = cli_utf8((const unsigned char *)text + at, size - at);
        if (used + (n > 0 ? n : 1) >= LABEL_SIZE) break;
        if (n > 0)
            memcpy(out + used, text + at, n);
        else
            out[used] = '?';
        used += n > 0 ? n : 1;
        at += n > 0 ? n : 1;
    }
    out[used] = '\0';
}

/* The group of a slot, put where it belongs; the rest when there is no more room. */
static amount *group_of(stats *s, const char *backend, const char *target) {
    group wanted = {.held = {0, 0, 0}};
    set_label(wanted.backend, backend);
    set_label(wanted.target, target);
    size_t at = 0;
    for (; at < s->group_count; at++) {
        int order = strcmp(s->groups[at].backend, wanted.backend);
        if (order == 0) order = strcmp(s->groups[at].target, wanted.target);
        if (order == 0) return &s->groups[at].held;
        if (order > 0) break;
    }
    if (s->group_count == MAX_GROUPS) return &s->rest;
    memmove(s->groups + at + 1, s->groups + at, (s->group_count - at) * sizeof *s->groups);
    s->group_count++;
    s->groups[at] = wanted;
    return &s->groups[at].held;
}

static size_t age_of(const stats *s, uint64_t last_used_ns) {
    if (last_used_ns == 0) return UNKNOWN;
    const uint64_t age = last_used_ns < s->now_ns ? s->now_ns - last_used_ns : 0; /* clocks differ: the future is now */
    for (size_t i = 0; i < OLDER; i++)
        if (age / 1000000000u < ages[i].within_seconds) return i;
    return OLDER;
}

static slw_code count_slot(void *context, const slw_slot_info *slot) {
    stats *s = context;
    if (slot->status != SLW_OK) { /* what is no hit has no size that is known */
        *(slot->status == SLW_E_STORAGE ? &s->storage_errors : &s->invalid) += 1;
        return SLW_OK;
    }
    struct json_object *document = cli_slot_document(slot->directory, "slipway.json");
    add(group_of(s, cli_member_text(document, "backend"), cli_member_text(document, "target")), slot);
    json_object_put(document);
    add(&s->all, slot);
    add(strcmp(slot->state, slw_state_name(SLW_READY)) == 0 ? &s->ready : &s->generated, slot);
    add(&s->by_age[age_of(s, slot->last_used_ns)], slot);
    if (slot->last_used_ns != 0) {
        if (s->oldest_ns == 0 || slot->last_used_ns < s->oldest_ns) s->oldest_ns = slot->last_used_ns;
        if (slot->last_used_ns > s->newest_ns) s->newest_ns = slot->last_used_ns;
    }
    return SLW_OK;
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static void print_amount(const char *a, const char *b, const amount *held) {
    printf("%-9s %-24s %10llu %15llu %8llu\n", a, b, (unsigned long long)held->entries,
           (unsigned long long)held->size_bytes, (unsigned long long)held->files);
}

static void print_table(const stats *s, const char *root) {
    printf("%s\n", root);
    printf("%-9s %-24s %10s %15s %8s\n", "backend", "target", "entries", "bytes", "files");
    for (size_t i = 0; i < s->group_count; i++) {
        const group *g = &s->groups[i];
        print_amount(g->backend[0] ? g->backend : "-", g->target[0] ? g->target : "-", &g->held);
    }
    if (s->rest.entries > 0) print_amount("other", "", &s->rest);
    print_amount("all", "", &s->all);
    if (s->all.entries > 0) printf("last used\n");
    for (size_t i = 0; i < AGES; i++) {
        char name[24];
        snprintf(name, sizeof name, "%s%s", ages[i].within_seconds > 0 ? "within " : "", ages[i].name);
        if (s->by_age[i].entries > 0) print_amount("", name, &s->by_age[i]);
    }
    if (s->invalid + s->storage_errors > 0)
        printf("%llu INVALID, %llu STORAGE_ERROR: `slipway verify` says which and why\n",
               (unsigned long long)s->invalid, (unsigned long long)s->storage_errors);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static void put_amount(cli_json *json, const amount *held) {
    put_u64(json, "entries", held->entries);
    put_u64(json, "size_bytes", held->size_bytes);
    put_u64(json, "files", held->files);
}

static void put_group(cli_json *json, const char *backend, const char *target, const amount *held, int overflow) {
    put_object(json, NULL);
    put_text(json, "backend", backend[0] != '\0' ? backend : NULL);
    put_text(json, "target", target[0] != '\0' ? target : NULL);
    put_bool(json, "overflow", overflow);
    put_amount(json, held);
    put_end(json, '}');
}

static void put_time(cli_json *json, const char *key, uint64_t ns) {
    if (ns != 0)
        put_u64(json, key, ns);
    else
        put_null(json, key);
}

static void put_ages(cli_json *json, const stats *s) {
    put_array(json, "by_age");
    for (size_t i = 0; i < AGES; i++) {
        put_object(json, NULL);
        put_text(json, "age", ages[i].name);
        put_time(json, "within_ns", ages[i].within_seconds * 1000000000u);
        put_amount(json, &s->by_age[i]);
        put_end(json, '}');
    }
    put_end(json, ']');
}

static int print_json(const stats *s, const char *root) {
    cli_json json;
    if (put_open(&json) != 0) return 3;
    put_text(&json, "root", root);
    put_amount(&json, &s->all);
    put_object(&json, "counts");
    put_u64(&json, "HIT", s->all.entries);
    put_u64(&json, "INVALID", s->invalid);
    put_u64(&json, "STORAGE_ERROR", s->storage_errors);
    put_end(&json, '}');
    put_array(&json, "by_target");
    for (size_t i = 0; i < s->group_count; i++)
        put_group(&json, s->groups[i].backend, s->groups[i].target, &s->groups[i].held, 0);
    if (s->rest.entries > 0) put_group(&json, "", "", &s->rest, 1);
    put_end(&json, ']');
    put_array(&json, "by_state");
    for (int ready = 0; ready < 2; ready++) {
        put_object(&json, NULL);
        put_text(&json, "state", slw_state_name(ready ? SLW_READY : SLW_GENERATED));
        put_amount(&json, ready ? &s->ready : &s->generated);
        put_end(&json, '}');
    }
    put_end(&json, ']');
    put_ages(&json, s);
    put_time(&json, "oldest_used_ns", s->oldest_ns);
    put_time(&json, "newest_used_ns", s->newest_ns);
    return put_close(&json);
}

/* ---- OpenMetrics ------------------------------------------------------------------------------------------------- */

static void label(FILE *to, int *count, const char *name, const char *value) {
    if (value[0] == '\0') return; /* an empty label is none */
    fprintf(to, "%s%s=\"", (*count)++ == 0 ? "{" : ",", name);
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '\\' || *at == '"' || *at == '\n') fputc('\\', to);
        fputc(*at == '\n' ? 'n' : *at, to);
    }
    fputc('"', to);
}

static void family(FILE *to, const char *name, const char *unit, const char *help) {
    fprintf(to, "# TYPE %s gauge\n", name);
    if (unit != NULL) fprintf(to, "# UNIT %s %s\n", name, unit);
    fprintf(to, "# HELP %s %s\n", name, help);
}

static void sample(FILE *to, const char *name, const char *const labels[6], uint64_t value) {
    int count = 0;
    fputs(name, to);
    for (int i = 0; i < 6 && labels[i] != NULL; i += 2) label(to, &count, labels[i], labels[i + 1]);
    fprintf(to, "%s %llu\n", count > 0 ? "}" : "", (unsigned long long)value);
}

/* One of the three figures of every group. */
static void groups(FILE *to, const stats *s, const char *name, const char *unit, const char *help, int which) {
    family(to, name, unit, help);
    for (size_t i = 0; i < s->group_count + (s->rest.entries > 0); i++) {
        const int is_rest = i == s->group_count;
        const group *g = &s->groups[i];
        const amount *held = is_rest ? &s->rest : &g->held;
        const char *const labels[6] = {"backend",
                                       is_rest ? "other" : g->backend,
                                       "target",
                                       is_rest ? "other" : g->target,
                                       is_rest ? "overflow" : NULL,
                                       "true"};
        sample(to, name, labels, which == 0 ? held->entries : which == 1 ? held->size_bytes : held->files);
    }
}

static void by_one(FILE *to, const char *name, const char *key, const char *value, uint64_t number) {
    const char *const labels[6] = {key, value, NULL, NULL, NULL, NULL};
    sample(to, name, labels, number);
}

/* A path is bytes. */
static void root_label(FILE *to, const char *root) {
    fputs("# TYPE slipway_store_info gauge\n# HELP slipway_store_info The cache that was looked at.\n"
          "slipway_store_info{root=\"",
          to);
    const size_t size = strlen(root);
    for (size_t at = 0; at < size;) {
        const size_t n = cli_utf8((const unsigned char *)root + at, size - at);
        if (n == 0 || root[at] == '\n' || root[at] == '"' || root[at] == '\\')
            fputs(n == 0 ? "?" : root[at] == '\n' ? "\\n" : root[at] == '"' ? "\\\"" : "\\\\", to);
        else
            fwrite(root + at, 1, n, to);
        at += n > 0 ? n : 1;
    }
    fputs("\"} 1\n", to);
}

static int print_openmetrics(const stats *s, const char *root) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) return 3;
    root_label(to, root);
    groups(to, s, "slipway_store_entries", NULL, "Entries of the cache.", 0);
    groups(to, s, "slipway_store_bytes", "bytes", "Bytes of their payloads.", 1);
    groups(to, s, "slipway_store_files", NULL, "Files of their payloads.", 2);
    family(to, "slipway_store_state_entries", NULL, "Entries by state.");
    by_one(to, "slipway_store_state_entries", "state", slw_state_name(SLW_GENERATED), s->generated.entries);
    by_one(to, "slipway_store_state_entries", "state", slw_state_name(SLW_READY), s->ready.entries);
    family(to, "slipway_store_age_entries", NULL, "Entries by when they were last used, each in one class.");
    for (size_t i = 0; i < AGES; i++)
        by_one(to, "slipway_store_age_entries", "last_used", ages[i].name, s->by_age[i].entries);
    family(to, "slipway_store_slots", NULL, "Slots by what a look-up would find.");
    by_one(to, "slipway_store_slots", "status", "HIT", s->all.entries);
    by_one(to, "slipway_store_slots", "status", "INVALID", s->invalid);
    by_one(to, "slipway_store_slots", "status", "STORAGE_ERROR", s->storage_errors);
    fputs("# EOF\n", to);
    const int failed = fclose(to) != 0;
    int status = failed ? 3 : 0;
    if (!failed && fwrite(text, 1, size, stdout) != size) status = 4;
    free(text);
    return status;
}

int verb_stats(const cli_options *options, slw_error *err) {
    static stats s; /* large */
    cli_places places = {0};
    slw_store *store = NULL;
    if (options->json && options->openmetrics) {
        (void)cli_usage(err, "BAD_OPTION", "--json and --openmetrics are two forms of one text");
        return cli_fail(options, err);
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    s.now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    slw_code code = cli_open_cache(options, &places, &store, err);
    if (code == SLW_OK) code = slw_store_visit(store, 0, count_slot, &s, err);
    int status = 0;
    if (code != SLW_OK)
        status = cli_fail(options, err);
    else if (options->json)
        status = print_json(&s, slw_store_root(store));
    else if (options->openmetrics)
        status = print_openmetrics(&s, slw_store_root(store));
    else
        print_table(&s, slw_store_root(store));
    slw_store_close(&store);
    cli_free_places(&places);
    return status == 0 && s.storage_errors > 0 ? slw_code_exit_status(SLW_E_STORAGE) : status;
}
