/* why: what a request, or an entry, differs in from the entries that are nearest to it. Nothing is built and nothing is
 * written into the cache. */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_BYTES  72 /* of a value, for people */
#define SHOWN_FIELDS 12 /* of an entry, for people */
#define SHOWN_DIGITS 16 /* of a digest, for people */

typedef struct why {
    const cli_options *options;
    cli_places places;
    slw_store *store;
    slw_memo *memo;
    slw_compiler *compiler;
    slw_explanation *explanation;
} why;

static size_t digits_of(const char *text) {
    return strspn(text, "0123456789abcdef");
}

/* What looks like a key is one unless a file has that name; 64 digits always are. */
static int is_key(const char *text) {
    const size_t size = strlen(text);
    if (size < 4 || size > 64 || digits_of(text) != size) return 0;
    return size == 64 || access(text, F_OK) != 0;
}

static slw_code explain_file(why *w, slw_error *err) {
    const cli_options *options = w->options;
    const char *path = options->files.items[0];
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options how = SLW_COMPILE_OPTIONS_INIT;
    source.path = path;
    source.include_roots = options->includes.items;
    source.include_root_count = options->includes.count;
    how.target = options->target;
    how.flags = options->flags.items;
    how.flag_count = options->flags.count;
    w->memo = cli_open_memo(options, &w->places);
    const slw_code code = cli_open_compiler_for(options, w->store, w->memo, options->target,
                                                dot != NULL ? dot + 1 : NULL, &w->compiler, err);
    return code == SLW_OK ? slw_explain(w->compiler, &source, &how, NULL, &w->explanation, err) : code;
}

static slw_code explain(why *w, slw_error *err) {
    cli_options reading = *w->options;
    reading.read_only = 1;
    if (cli_find_places(w->options, &w->places, err) != 0) return err->code;
    if (w->places.cache == NULL) return cli_usage(err, "NO_CACHE", "there is no cache: %s", w->places.why_no_cache);
    const slw_code code = cli_open_store(&reading, &w->places, NULL, NULL, &w->store, err);
    if (code != SLW_OK) return code;
    const char *what = w->options->files.items[0];
    return is_key(what) ? slw_explain_key(w->store, what, NULL, &w->explanation, err) : explain_file(w, err);
}

/* ---- for programs ---------------------------------------------------------------------------------------------- */

static void put_nearest(cli_json *json, const slw_explanation *explanation, size_t index) {
    slw_near_entry entry = SLW_NEAR_ENTRY_INIT;
    slw_difference d = SLW_DIFFERENCE_INIT;
    (void)slw_explanation_entry(explanation, index, &entry);
    put_object(json, NULL);
    put_text(json, "key", entry.key);
    put_text(json, "spec", entry.spec);
    put_text(json, "state", entry.state);
    put_text(json, "name", entry.name);
    put_text(json, "backend", entry.backend);
    put_text(json, "target", entry.target);
    if (entry.last_used_ns != 0)
        put_u64(json, "last_used_ns", entry.last_used_ns);
    else
        put_null(json, "last_used_ns");
    put_array(json, "differences");
    for (size_t i = 0; slw_explanation_difference(explanation, index, i, &d); i++) {
        put_object(json, NULL);
        put_text(json, "field", d.field);
        put_text(json, "old", d.old_value);
        put_text(json, "new", d.new_value);
        put_end(json, '}');
    }
    put_end(json, ']');
    put_u64(json, "left_out", entry.left_out);
    put_end(json, '}');
}

static int print_json(const slw_explanation *explanation) {
    cli_json json;
    if (put_open(&json) != 0) return 3;
    put_text(&json, "status", slw_explain_verdict_name(slw_explanation_verdict(explanation)));
    put_text(&json, "reason", slw_explanation_reason(explanation));
    put_text(&json, "key", slw_explanation_key(explanation));
    put_text(&json, "spec", slw_explanation_spec(explanation));
    put_array(&json, "nearest");
    for (size_t i = 0; i < slw_explanation_count(explanation); i++) put_nearest(&json, explanation, i);
    put_end(&json, ']');
    put_u64(&json, "compared", slw_explanation_compared(explanation));
    put_u64(&json, "skipped", slw_explanation_skipped(explanation));
    return put_close(&json);
}

/* ---- for people ------------------------------------------------------------------------------------------------- */

/* Cut where a line would get too long; the digests in full are the document's. */
static void print_value(const char *text) {
    if (text == NULL) {
        printf("(none)");
        return;
    }
    const size_t size = strlen(text);
    size_t shown = size == 64 && digits_of(text) == size ? SHOWN_DIGITS : size <= SHOWN_BYTES ? size : SHOWN_BYTES;
    while (shown > 0 && shown < size && ((unsigned char)text[shown] & 0xc0u) == 0x80u) shown--;
    char cut[SHOWN_BYTES + 8];
    snprintf(cut, sizeof cut, "%.*s%s", (int)shown, text, shown < size ? "..." : "");
    printf("%s", cli_plain(cut));
}

static void print_nearest(const slw_explanation *explanation, size_t index) {
    slw_near_entry entry = SLW_NEAR_ENTRY_INIT;
    slw_difference d = SLW_DIFFERENCE_INIT;
    (void)slw_explanation_entry(explanation, index, &entry);
    const uint64_t all = entry.differences + entry.left_out;
    printf("  %.*s  %s, %s %s: %llu field%s differ%s\n", SHOWN_DIGITS, entry.key,
           entry.name != NULL ? cli_plain(entry.name) : "-", entry.backend != NULL ? cli_plain(entry.backend) : "-",
           entry.target != NULL ? cli_plain(entry.target) : "-", (unsigned long long)all, all == 1 ? "" : "s",
           all == 1 ? "s" : "");
    size_t shown = 0;
    for (; shown < SHOWN_FIELDS && slw_explanation_difference(explanation, index, shown, &d); shown++) {
        printf("    %s: ", cli_plain(d.field));
        print_value(d.old_value);
        printf(" -> ");
        print_value(d.new_value);
        printf("\n");
    }
    if (all > shown) printf("    and %llu more (--json has them)\n", (unsigned long long)(all - shown));
}

static void print_verdict(const slw_explanation *explanation, const char *asked) {
    const char *key = slw_explanation_key(explanation), *what = cli_plain(asked),
               *reason = cli_plain(slw_explanation_reason(explanation));
    switch (slw_explanation_verdict(explanation)) {
    case SLW_EXPLAIN_HIT:
        printf("%s is in the cache: %s\n", what, key);
        break;
    case SLW_EXPLAIN_INVALID:
        printf("%s has a damaged entry: %s\n", what, reason);
        break;
    case SLW_EXPLAIN_PRIVATE:
        printf("%s would be built privately: %s\n", what, reason);
        break;
    case SLW_EXPLAIN_ENTRY:
        printf("%s is in the cache\n", key);
        break;
    case SLW_EXPLAIN_MISS:
        if (key != NULL)
            printf("%s is not in the cache: %s\n", what, key);
        else
            printf("no entry of the cache has a key that begins with %s\n", what);
        break;
    }
}

static void print_table(const slw_explanation *explanation, const char *what) {
    const size_t count = slw_explanation_count(explanation);
    const uint64_t skipped = slw_explanation_skipped(explanation);
    const slw_explain_verdict verdict = slw_explanation_verdict(explanation);
    print_verdict(explanation, what);
    if (verdict == SLW_EXPLAIN_HIT || slw_explanation_key(explanation) == NULL) return;
    const uint64_t compared = slw_explanation_compared(explanation);
    const char *others = verdict == SLW_EXPLAIN_ENTRY ? "other" : "entry";
    if (count > 0)
        printf("compared with %llu %s, the nearest first, old -> new:\n", (unsigned long long)compared,
               compared == 1                  ? others
               : verdict == SLW_EXPLAIN_ENTRY ? "others"
                                              : "entries");
    else
        printf("there is nothing to compare it with\n");
    for (size_t i = 0; i < count; i++) print_nearest(explanation, i);
    if (skipped > 0) printf("%llu skipped: damaged, or not made by a compile\n", (unsigned long long)skipped);
}

static int status_of(const slw_explanation *explanation) {
    const slw_explain_verdict verdict = slw_explanation_verdict(explanation);
    return verdict == SLW_EXPLAIN_HIT || verdict == SLW_EXPLAIN_ENTRY ? 0 : slw_code_exit_status(SLW_E_MISS);
}

int verb_why(const cli_options *options, slw_error *err) {
    why w = {.options = options};
    int status;
    if (explain(&w, err) != SLW_OK) {
        status = cli_fail(options, err);
    } else if (options->json) {
        status = print_json(w.explanation);
        if (status == 0) status = status_of(w.explanation);
    } else {
        print_table(w.explanation, options->files.items[0]);
        status = status_of(w.explanation);
    }
    slw_explanation_release(&w.explanation);
    slw_compiler_close(&w.compiler);
    slw_memo_close(&w.memo);
    slw_store_close(&w.store);
    cli_free_places(&w.places);
    return status;
}
