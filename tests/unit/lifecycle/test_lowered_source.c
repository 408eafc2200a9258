/* A front end's own form as a source: its record, and its way through the host's backend, cold and hot. */
#include "explain_kit.h"

/* ---- making one
   -------------------------------------------------------------------------------------------------------- */

#define FORMS_RECORDS 32

/* A form under test, with what it borrows. */
typedef struct form {
    slw_lowered_source source;
    slw_named_record signature[8], constants[8], attributes[8];
    slw_record *kept[FORMS_RECORDS];
    size_t kept_count;
    int lowered; /* how often it was lowered */
    const char *text;
    slw_code code;
} form;

static slw_record *keep(form *f, slw_record *record) {
    ck_assert_uint_lt(f->kept_count, FORMS_RECORDS);
    f->kept[f->kept_count++] = record;
    return record;
}

static slw_record *text_record(form *f, const char *text) {
    slw_record *record = NULL;
    slt_ok(slw_record_string(NULL, (slw_bytes){text, strlen(text)}, &record, &world.err), &world.err);
    return keep(f, record);
}

static slw_record *int_record(form *f, int64_t value) {
    slw_record *record = NULL;
    slt_ok(slw_record_int(NULL, value, &record, &world.err), &world.err);
    return keep(f, record);
}

static slw_record *float_record(form *f, double value) {
    slw_record *record = NULL;
    slt_ok(slw_record_float(NULL, value, &record, &world.err), &world.err);
    return keep(f, record);
}

static slw_record *bool_record(form *f, int value) {
    slw_record *record = NULL;
    slt_ok(slw_record_bool(NULL, value, &record, &world.err), &world.err);
    return keep(f, record);
}

static slw_code lower(void *context, slw_text *out, slw_error *err) {
    form *f = context;
    f->lowered++;
    if (f->code != SLW_OK) {
        err->code = f->code;
        err->reason = "MINE";
        (void)snprintf(err->message, sizeof err->message, "%s", "line 7 cannot be lowered");
        return f->code;
    }
    if (f->text == NULL) return SLW_OK;
    return slw_text_copy(NULL, (slw_bytes){f->text, strlen(f->text)}, out, err);
}

static void form_begin(form *f) {
    memset(f, 0, sizeof *f);
    f->source = (slw_lowered_source)SLW_LOWERED_SOURCE_INIT;
    f->source.language = "tiny 1";
    f->source.body = text_record(f, "def add(x): x += 1");
    f->source.signature = f->signature;
    f->source.constants = f->constants;
    f->source.attributes = f->attributes;
    f->source.lower = lower;
    f->source.context = f;
    f->text = kernel_text;
}

static void form_end(form *f) {
    for (size_t i = 0; i < f->kept_count; i++) slw_record_release(&f->kept[i]);
}

static void add(slw_named_record *list, size_t *count, const char *name, const slw_record *value) {
    list[(*count)++] = (slw_named_record){name, value};
}

static void add_constant(form *f, const char *name, const slw_record *value) {
    add(f->constants, &f->source.constant_count, name, value);
}

static void add_argument(form *f, const char *name, const char *type) {
    add(f->signature, &f->source.signature_count, name, text_record(f, type));
}

static void add_attribute(form *f, const char *name, const slw_record *value) {
    add(f->attributes, &f->source.attribute_count, name, value);
}

static const char *digest_of(const form *f, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_record *record = NULL;
    slw_digest digest;
    slt_ok(slw_lowered_source_record(NULL, &f->source, &record, &world.err), &world.err);
    slt_ok(slw_record_digest(record, NULL, &digest, &world.err), &world.err);
    slw_digest_format(&digest, out);
    slw_record_release(&record);
    return out;
}

/* ---- the record
   -------------------------------------------------------------------------------------------------------- */

static void setup_record(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    memset(&world, 0, sizeof world);
    world.err = fresh;
}

/* Forms that differ in one thing each: no two of them have one record. The first is what the others are changed
   from. */
static void nothing(form *f) {
    (void)f;
}
static void other_language(form *f) {
    f->source.language = "tiny 2";
}
static void other_body(form *f) {
    f->source.body = text_record(f, "def add(x): x += 2");
}
static void body_is_a_number(form *f) {
    f->source.body = int_record(f, 1);
}
static void argument(form *f) {
    add_argument(f, "x", "*f32");
}
static void other_argument(form *f) {
    add_argument(f, "y", "*f32");
}
static void other_type(form *f) {
    add_argument(f, "x", "*f64");
}
static void two_arguments(form *f) {
    add_argument(f, "x", "*f32");
    add_argument(f, "y", "*f32");
}
static void one_argument_of_both(form *f) {
    add_argument(f, "xy", "*f32*f32");
}
static void constant_one(form *f) {
    add_constant(f, "N", int_record(f, 1));
}
static void constant_text(form *f) {
    add_constant(f, "N", text_record(f, "1"));
}
static void constant_float(form *f) {
    add_constant(f, "N", float_record(f, 1.0));
}
static void constant_true(form *f) {
    add_constant(f, "N", bool_record(f, 1));
}
static void constant_minus_zero(form *f) {
    add_constant(f, "N", float_record(f, -0.0));
}
static void constant_zero(form *f) {
    add_constant(f, "N", float_record(f, 0.0));
}
static void other_constant(form *f) {
    add_constant(f, "M", int_record(f, 1));
}
static void a_and_b_c(form *f) {
    add_constant(f, "p", text_record(f, "a"));
    add_constant(f, "q", text_record(f, "b-c"));
}
static void a_b_and_c(form *f) {
    add_constant(f, "p", text_record(f, "a-b"));
    add_constant(f, "q", text_record(f, "c"));
}
static void values_swapped(form *f) {
    add_constant(f, "p", text_record(f, "b-c"));
    add_constant(f, "q", text_record(f, "a"));
}
static void attribute(form *f) {
    add_attribute(f, "N", int_record(f, 1));
}
static void other_attribute(form *f) {
    add_attribute(f, "N", int_record(f, 16));
}
static void argument_is_constant(form *f) {
    add_constant(f, "x", text_record(f, "*f32"));
}

static void (*const changes[])(form *f) = {
    nothing,
    other_language,
    other_body,
    body_is_a_number,
    argument,
    other_argument,
    other_type,
    two_arguments,
    constant_one,
    constant_text,
    constant_float,
    constant_true,
    constant_zero,
    constant_minus_zero,
    other_constant,
    a_and_b_c,
    a_b_and_c,
    values_swapped,
    attribute,
    other_attribute,
    one_argument_of_both,
    argument_is_constant,
};
#define CHANGES (sizeof changes / sizeof *changes)

START_TEST(each_field_counts) {
    static char digests[CHANGES][SLW_DIGEST_TEXT_SIZE];
    for (size_t i = 0; i < CHANGES; i++) {
        form f;
        form_begin(&f);
        changes[i](&f);
        (void)digest_of(&f, digests[i]);
        form_end(&f);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(strcmp(digests[i], digests[j]) != 0, "%zu and %zu have one record", i, j);
    }
}
END_TEST

/* Every order of the three lists: one record. */
START_TEST(the_order_of_listing_is_no_part_of_it) {
    static const char *const names[] = {"a", "b", "2.0", "10"};
    char first[SLW_DIGEST_TEXT_SIZE], digest[SLW_DIGEST_TEXT_SIZE];
    for (int order = 0; order < 24; order++) {
        int left[4] = {0, 1, 2, 3}, code = order;
        form f;
        form_begin(&f);
        for (int i = 0; i < 4; i++) {
            const int at = code % (4 - i);
            const int which = left[at];
            code /= 4 - i;
            memmove(left + at, left + at + 1, (size_t)(3 - at) * sizeof *left);
            char type[8];
            (void)snprintf(type, sizeof type, "t%d", which);
            add_argument(&f, names[which], type);
            add_constant(&f, names[which], int_record(&f, which));
            add_attribute(&f, names[3 - which], int_record(&f, 3 - which));
        }
        (void)digest_of(&f, order == 0 ? first : digest);
        if (order > 0) ck_assert_str_eq(digest, first);
        form_end(&f);
    }
}
END_TEST

/* Its exact shape: no address, no order of a hash and no version of ours is in it. */
START_TEST(the_record_is_what_the_header_says) {
    static const char json[] =
        "{\"t\":\"dict\",\"v\":["
        "[{\"t\":\"str\",\"wtf8_hex\":\"6c616e6775616765\"},{\"t\":\"str\",\"wtf8_hex\":\"74696e792031\"}],"
        "[{\"t\":\"str\",\"wtf8_hex\":\"626f6479\"},{\"t\":\"int\",\"v\":\"7\"}],"
        "[{\"t\":\"str\",\"wtf8_hex\":\"7369676e6174757265\"},{\"t\":\"dict\",\"v\":["
        "[{\"t\":\"str\",\"wtf8_hex\":\"78\"},{\"t\":\"str\",\"wtf8_hex\":\"693332\"}]]}],"
        "[{\"t\":\"str\",\"wtf8_hex\":\"636f6e7374616e7473\"},{\"t\":\"dict\",\"v\":["
        "[{\"t\":\"str\",\"wtf8_hex\":\"4e\"},{\"t\":\"int\",\"v\":\"128\"}]]}],"
        "[{\"t\":\"str\",\"wtf8_hex\":\"61747472696275746573\"},{\"t\":\"dict\",\"v\":[]}]]}";
    slw_record *record = NULL;
    slw_digest digest;
    char expected[SLW_DIGEST_TEXT_SIZE], found[SLW_DIGEST_TEXT_SIZE];
    slt_ok(slw_record_parse(NULL, (slw_bytes){json, sizeof json - 1}, &record, &world.err), &world.err);
    slt_ok(slw_record_digest(record, NULL, &digest, &world.err), &world.err);
    slw_digest_format(&digest, expected);
    slw_record_release(&record);
    form f;
    form_begin(&f);
    f.source.body = int_record(&f, 7);
    add_argument(&f, "x", "i32");
    add_constant(&f, "N", int_record(&f, 128));
    ck_assert_str_eq(digest_of(&f, found), expected);
    /* What it brings for the options, and how it is lowered, is no part of it. */
    const char *const flags[] = {"-O1"};
    f.source.flags = flags;
    f.source.flag_count = 1;
    f.source.context = NULL;
    ck_assert_str_eq(digest_of(&f, found), expected);
    form_end(&f);
}
END_TEST

static void check_refused(const form *f, const char *reason) {
    slw_record *record = NULL;
    ck_code(slw_lowered_source_record(NULL, &f->source, &record, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(record);
    ck_assert_str_eq(world.err.reason, reason);
}

START_TEST(refusals) {
    form f;
    form_begin(&f);
    const slw_lowered_source good = f.source;
    slw_record *record = NULL;
    ck_code(slw_lowered_source_record(NULL, NULL, &record, &world.err), SLW_E_USAGE);
    ck_code(slw_lowered_source_record(NULL, &f.source, NULL, &world.err), SLW_E_USAGE);
    f.source.size--;
    check_refused(&f, "BAD_SIZE");
    f.source = good;
    f.source.language = NULL;
    check_refused(&f, "EMPTY");
    f.source = good;
    f.source.body = NULL;
    check_refused(&f, "EMPTY");
    f.source = good;
    f.source.lower = NULL;
    check_refused(&f, "EMPTY");
    f.source = good;
    f.source.language = "\xff";
    check_refused(&f, "BAD_TEXT");
    for (int list = 0; list < 4; list++) {
        f.source = good;
        if (list == 0) f.source.signature = NULL, f.source.signature_count = 1;
        if (list == 1) f.source.constants = NULL, f.source.constant_count = 1;
        if (list == 2) f.source.attributes = NULL, f.source.attribute_count = 1;
        if (list == 3) f.source.flags = NULL, f.source.flag_count = 1;
        check_refused(&f, "EMPTY");
    }
    f.source = good;
    add_constant(&f, "N", f.source.body);
    add_constant(&f, "N", f.source.body);
    check_refused(&f, "DUPLICATE");
    f.constants[1].name = NULL;
    check_refused(&f, "EMPTY");
    f.constants[1] = (slw_named_record){"M", NULL};
    check_refused(&f, "EMPTY");
    ck_assert_str_eq(world.err.subject, "constants");
    f.constants[1].value = f.source.body;
    slt_ok(slw_lowered_source_record(NULL, &f.source, &record, &world.err), &world.err);
    slw_record_release(&record);
    form_end(&f);
}
END_TEST

/* What was listed is copied: it may be part of another record, and may go. */
START_TEST(everything_is_copied) {
    form f;
    char before[SLW_DIGEST_TEXT_SIZE], after[SLW_DIGEST_TEXT_SIZE];
    slw_digest digest;
    form_begin(&f);
    slw_record *record = NULL, *other = NULL, *list = NULL;
    slt_ok(slw_record_list(NULL, &list, &world.err), &world.err);
    slt_ok(slw_record_int(NULL, 5, &other, &world.err), &world.err);
    const slw_record *part = other;
    slt_ok(slw_record_append(list, &other, &world.err), &world.err);
    keep(&f, list);
    add_constant(&f, "N", part);
    slt_ok(slw_lowered_source_record(NULL, &f.source, &record, &world.err), &world.err);
    (void)digest_of(&f, before);
    form_end(&f);
    slt_ok(slw_record_digest(record, NULL, &digest, &world.err), &world.err);
    slw_digest_format(&digest, after);
    ck_assert_str_eq(before, after);
    slw_record_release(&record);
}
END_TEST

START_TEST(no_memory_for_the_record) {
    slt_heap heap;
    form f;
    slt_heap_init(&heap);
    form_begin(&f);
    two_arguments(&f);
    constant_one(&f);
    attribute(&f);
    uint64_t n = 1;
    for (;; n++) {
        slw_record *record = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        const slw_code rc = slw_lowered_source_record(&heap.allocator, &f.source, &record, &world.err);
        if (rc == SLW_OK) {
            slw_record_release(&record);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(record);
        slt_heap_check_empty(&heap);
    }
    ck_assert_uint_gt(n, 15);
    slt_heap_check_empty(&heap);
    form_end(&f);
}
END_TEST

/* ---- compiling
   --------------------------------------------------------------------------------------------------------- */

static slw_source source_of(const form *f) {
    slw_source source = SLW_SOURCE_INIT;
    source.lowered = &f->source;
    source.name = "add.tiny";
    source.extension = "c";
    return source;
}

static slw_cached *compile_form(const form *f, const slw_compile_options *options, slw_disposition disposition) {
    const slw_source source = source_of(f);
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    const slw_code rc = slw_compile(compiler, &source, options, &report, &cached, &world.err);
    ck_assert_msg(rc == SLW_OK, "%s %s\n%s", slw_code_name(rc), world.err.message, words);
    ck_assert_msg(report.disposition == disposition, "%s: %s", slw_disposition_name(report.disposition), report.reason);
    slw_build_report_release(&report);
    return cached;
}

/* What the kernel adds to 40. */
static uint32_t launch(slw_cached *cached) {
    slw_device *device = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slt_ok(slw_device_open(&(slw_device_options)SLW_DEVICE_OPTIONS_INIT, &device, &world.err), &world.err);
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &world.err), &world.err);
    slt_ok(slw_device_load(&hydrated, device, &loaded, &world.err), &world.err);
    const slw_launch_shape shape = kit_shape("add", 1);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    uint32_t sum = 40, *data = &sum;
    void *arguments[] = {&data};
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 1, arguments), &world.err);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
    return sum;
}

START_TEST(cold_then_hot) {
    form f;
    form_begin(&f);
    constant_one(&f);
    slw_cached *cached = compile_form(&f, NULL, SLW_PUBLISHED);
    char key[SLW_DIGEST_TEXT_SIZE];
    kit_copy(key, sizeof key, slw_key_digest(slw_cached_key(cached)));
    ck_assert_int_eq(f.lowered, 1);
    const kit_event *stage = kit_event_of(&world, SLW_PHASE_STAGE, 0);
    ck_assert_str_eq(stage->stage, "lower");
    ck_assert_uint_eq(stage->bytes, strlen(kernel_text));
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_STAGE, 1)->stage, "object");
    ck_assert_uint_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 0)->stage_count, 3);
    ck_assert_uint_eq(launch(cached), 41);

    world.event_count = 0;
    cached = compile_form(&f, NULL, SLW_HIT);
    ck_assert_int_eq(f.lowered, 1);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_STAGE, 0));
    ck_assert_str_eq(slw_key_digest(slw_cached_key(cached)), key);
    ck_assert_uint_eq(launch(cached), 41);

    /* What it is lowered to is not asked for, and not part of the key: the record is. */
    f.text = "no C at all";
    cached = compile_form(&f, NULL, SLW_HIT);
    slw_cached_discard(&cached);
    f.source.language = "tiny 2";
    f.text = kernel_text;
    cached = compile_form(&f, NULL, SLW_PUBLISHED);
    ck_assert_str_ne(slw_key_digest(slw_cached_key(cached)), key);
    ck_assert_int_eq(f.lowered, 2);
    slw_cached_discard(&cached);
    form_end(&f);
}
END_TEST

/* The constants 1 and "1", and "a","b-c" and "a-b","c": each its own entry, none a hit of the other. */
START_TEST(framing_pairs_are_two_keys) {
    static void (*const pairs[])(form * f) = {constant_one, constant_text, a_and_b_c, a_b_and_c};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (int again = 0; again < 2; again++) {
            form f;
            form_begin(&f);
            pairs[i](&f);
            slw_cached *cached = compile_form(&f, NULL, again ? SLW_HIT : SLW_PUBLISHED);
            slw_cached_discard(&cached);
            form_end(&f);
        }
    }
}
END_TEST

/* The source's flags stand before the request's, so that the request has the last word; and they count. */
START_TEST(its_flags_come_first) {
    static const char *const own[] = {"-DX=2"}, *const asked[] = {"-UX", "-DX=7"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    form f;
    form_begin(&f);
    f.source.flags = own;
    f.source.flag_count = 1;
    ck_assert_uint_eq(launch(compile_form(&f, NULL, SLW_PUBLISHED)), 42);
    options.flags = asked;
    options.flag_count = 2;
    slw_cached *cached = compile_form(&f, &options, SLW_PUBLISHED);
    char *text = slt_read_file(slt_path(slw_cached_directory(cached), "slipway.json", NULL), NULL);
    const char *first = strstr(text, "\"2d44583d32\""), *second = strstr(text, "\"2d5558\"");
    ck_assert(first != NULL && second != NULL && first < second);
    free(text);
    ck_assert_uint_eq(launch(cached), 47);
    f.source.flag_count = 0;
    ck_assert_uint_eq(launch(compile_form(&f, NULL, SLW_PUBLISHED)), 41);

    /* They are checked as the request's are. */
    static const char *const plugin[] = {"-fplugin=x"};
    const slw_source source = source_of(&f);
    f.source.flags = plugin;
    f.source.flag_count = 1;
    slw_explanation *explanation = NULL;
    slt_ok(slw_explain(compiler, &source, NULL, NULL, &explanation, &world.err), &world.err);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_PRIVATE);
    ck_assert_ptr_nonnull(strstr(slw_explanation_reason(explanation), "-fplugin=x"));
    slw_explanation_release(&explanation);
    form_end(&f);
}
END_TEST

/* Explaining never lowers, and neither does a request that is refused. */
START_TEST(lowered_on_a_miss_only) {
    form f;
    form_begin(&f);
    const slw_source source = source_of(&f);
    slw_explanation *explanation = NULL;
    slt_ok(slw_explain(compiler, &source, NULL, NULL, &explanation, &world.err), &world.err);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
    slw_explanation_release(&explanation);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    options.target = "no such target";
    ck_code(slw_compile(compiler, &source, &options, NULL, &cached, &world.err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_int_eq(f.lowered, 0);
    form_end(&f);
}
END_TEST

START_TEST(its_errors_pass_through) {
    form f;
    form_begin(&f);
    const slw_source source = source_of(&f);
    slw_cached *cached = NULL;
    f.code = (slw_code)(SLW_E_BUILDER_FIRST + 7);
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), f.code);
    ck_assert_str_eq(world.err.reason, "MINE");
    ck_assert_ptr_nonnull(strstr(world.err.message, "line 7 cannot be lowered"));
    const kit_event *stage = kit_event_of(&world, SLW_PHASE_STAGE, 0);
    ck_assert_str_eq(stage->stage, "lower");
    ck_assert_int_eq(stage->code, f.code);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_STAGE, 1));
    f.code = SLW_OK;
    f.text = NULL;
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(world.err.reason, "EMPTY");
    const size_t size = (size_t)SLW_LIMIT_SOURCE_BYTES + 2;
    char *longest = malloc(size);
    memset(longest, ' ', size - 1);
    longest[size - 1] = '\0';
    f.text = longest;
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_LIMIT);
    ck_assert_uint_eq(world.err.required, (uint64_t)SLW_LIMIT_SOURCE_BYTES + 1);
    free(longest);
    f.text = "int x;\nint y = ;\n";
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_COMPILE_FAILED);
    ck_assert_uint_eq(world.err.line, 2);
    ck_assert_ptr_null(cached);
    /* Nothing of it was published: the next one is no hit. */
    f.text = kernel_text;
    cached = compile_form(&f, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    ck_assert_int_eq(f.lowered, 5);
    form_end(&f);
}
END_TEST

/* One of path, text and form; and a form that is refused is refused by compile() too. */
START_TEST(a_source_is_one_thing) {
    form f;
    form_begin(&f);
    slw_source source = source_of(&f);
    slw_cached *cached = NULL;
    source.path = "x.c";
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    source = source_of(&f);
    source.text = (slw_bytes){"", 0};
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    source = source_of(&f);
    add_constant(&f, "N", f.source.body);
    add_constant(&f, "N", f.source.body);
    ck_code(slw_compile(compiler, &source, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "DUPLICATE");
    ck_assert_int_eq(f.lowered, 0);
    form_end(&f);
}
END_TEST

START_TEST(no_memory_on_a_hit) {
    static const char *const own[] = {"-DX=2"};
    form f;
    form_begin(&f);
    constant_one(&f);
    f.source.flags = own;
    f.source.flag_count = 1;
    slw_cached *cached = compile_form(&f, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    const slw_source source = source_of(&f);
    const uint64_t blocks = world.heap.live_blocks;
    uint64_t n = 1;
    for (;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = slw_compile(compiler, &source, NULL, NULL, &cached, &world.err);
        world.heap.fail_at = 0;
        if (rc == SLW_OK) {
            slw_cached_discard(&cached);
            if (world.heap.failed == 0) break;
            continue;
        }
        ck_code(rc, SLW_E_NO_MEMORY);
        ck_assert_uint_eq(world.heap.live_blocks, blocks);
    }
    ck_assert_uint_gt(n, 20);
    ck_assert_int_eq(f.lowered, 1);
    form_end(&f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle lowered source");
    TCase *r = tcase_create("record");
    tcase_set_timeout(r, 60);
    tcase_add_checked_fixture(r, setup_record, NULL);
    tcase_add_test(r, each_field_counts);
    tcase_add_test(r, the_order_of_listing_is_no_part_of_it);
    tcase_add_test(r, the_record_is_what_the_header_says);
    tcase_add_test(r, refusals);
    tcase_add_test(r, everything_is_copied);
    tcase_add_test(r, no_memory_for_the_record);
    suite_add_tcase(suite, r);
    TCase *c = tcase_create("compile");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, cold_then_hot);
    tcase_add_test(c, framing_pairs_are_two_keys);
    tcase_add_test(c, its_flags_come_first);
    tcase_add_test(c, lowered_on_a_miss_only);
    tcase_add_test(c, its_errors_pass_through);
    tcase_add_test(c, a_source_is_one_thing);
    tcase_add_test(c, no_memory_on_a_hit);
    suite_add_tcase(suite, c);
    return explain_main(suite);
}
