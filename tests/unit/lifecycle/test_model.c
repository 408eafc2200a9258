/* All short sequences of operations, against a model that knows only which handles are there.
 *
 * The model: four variables, a share of each of three phases, the number of owners of the module, and whether the
 * driver is told to fail next. After every operation the real variables must be set where the model says so, and at
 * the end, with everything discarded, nothing is alive. */
#include "kit.h"

static kit world;

static void setup(void) {
    memset(&world, 0, sizeof world);
    world.verify = SLW_VERIFY_ON_MAP;
    kit_open(&world);
}

static void teardown(void) {
    kit_close(&world);
}

enum { CACHED, HYDRATED, LOADED, LAUNCHABLE, HYDRATED_SHARE, LOADED_SHARE, LAUNCHABLE_SHARE, VARIABLES };

typedef struct real {
    slw_cached *cached;
    slw_hydrated *hydrated, *hydrated_share;
    slw_device_loaded *loaded, *loaded_share;
    slw_launchable *launchable, *launchable_share;
} real;

typedef struct model {
    int is[VARIABLES];
    int fails; /* the driver's next load, function and launch */
} model;

typedef struct operation {
    const char *name;
    /* Runs it for real and in the model; returns what the model expects, and the real code in *rc. */
    slw_code (*run)(real *r, model *m, slw_code *rc);
} operation;

static slw_error err;

static void driver_fails(int fails) {
    slt_null_fail(&world.null.load, SLW_E_DRIVER, fails ? -1 : 0);
    slt_null_fail(&world.null.function, SLW_E_DRIVER, fails ? -1 : 0);
    slt_null_fail(&world.null.launch, SLW_E_DRIVER, fails ? -1 : 0);
}

static slw_code op_lookup(real *r, model *m, slw_code *rc) {
    if (m->is[CACHED]) return *rc = SLW_OK; /* would leak the first one: not an operation */
    *rc = slw_store_lookup(world.store, world.key, world.spec, &r->cached, &err);
    m->is[CACHED] = 1;
    return SLW_OK;
}

static slw_code op_hydrate(real *r, model *m, slw_code *rc) {
    if (m->is[HYDRATED]) return *rc = SLW_OK;
    *rc = slw_hydrate(&r->cached, NULL, &r->hydrated, &err);
    if (!m->is[CACHED]) return SLW_E_USAGE;
    m->is[CACHED] = 0;
    m->is[HYDRATED] = 1;
    return SLW_OK;
}

static int module_is_there(void) {
    return atomic_load(&world.null.modules_now) != 0;
}

static slw_code op_load(real *r, model *m, slw_code *rc) {
    if (m->is[LOADED]) return *rc = SLW_OK;
    const int there = module_is_there(); /* retired ones are revived and need no driver */
    *rc = slw_device_load(&r->hydrated, world.device, &r->loaded, &err);
    if (!m->is[HYDRATED]) return SLW_E_USAGE;
    if (m->fails && !there) return SLW_E_DRIVER;
    m->is[HYDRATED] = 0;
    m->is[LOADED] = 1;
    return SLW_OK;
}

static slw_code op_make(real *r, model *m, slw_code *rc) {
    if (m->is[LAUNCHABLE]) return *rc = SLW_OK;
    const slw_launch_shape shape = kit_shape("none", 32);
    *rc = slw_make_launchable(&r->loaded, &shape, &r->launchable, &err);
    if (!m->is[LOADED]) return SLW_E_USAGE;
    if (m->fails) return SLW_E_DRIVER;
    m->is[LOADED] = 0;
    m->is[LAUNCHABLE] = 1;
    return SLW_OK;
}

static slw_code op_launch(real *r, model *m, slw_code *rc) {
    const slw_grid grid = kit_grid(1, 1, 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    *rc = slw_launch(r->launchable, &grid, stream, NULL, &err);
    if (!m->is[LAUNCHABLE]) return SLW_E_USAGE;
    return m->fails ? SLW_E_DRIVER : SLW_OK;
}

static slw_code op_share(real *r, model *m, slw_code *rc) {
    /* The furthest phase there is. */
    if (m->is[LAUNCHABLE] && !m->is[LAUNCHABLE_SHARE]) {
        *rc = slw_launchable_share(r->launchable, &r->launchable_share, &err);
        m->is[LAUNCHABLE_SHARE] = 1;
    } else if (m->is[LOADED] && !m->is[LOADED_SHARE]) {
        *rc = slw_device_loaded_share(r->loaded, &r->loaded_share, &err);
        m->is[LOADED_SHARE] = 1;
    } else if (m->is[HYDRATED] && !m->is[HYDRATED_SHARE]) {
        *rc = slw_hydrated_share(r->hydrated, &r->hydrated_share, &err);
        m->is[HYDRATED_SHARE] = 1;
    } else {
        return *rc = SLW_OK;
    }
    return SLW_OK;
}

/* The shares become the main handles: what comes next is done with them, after the first owner has gone. */
static slw_code op_discard_first_owners(real *r, model *m, slw_code *rc) {
    slw_cached_discard(&r->cached);
    slw_hydrated_discard(&r->hydrated);
    slw_device_loaded_discard(&r->loaded);
    slw_launchable_discard(&r->launchable);
    r->hydrated = r->hydrated_share;
    r->loaded = r->loaded_share;
    r->launchable = r->launchable_share;
    r->hydrated_share = NULL;
    r->loaded_share = NULL;
    r->launchable_share = NULL;
    m->is[CACHED] = 0;
    for (int i = HYDRATED; i <= LAUNCHABLE; i++) {
        m->is[i] = m->is[i + 3];
        m->is[i + 3] = 0;
    }
    return *rc = SLW_OK;
}

static slw_code op_retire(real *r, model *m, slw_code *rc) {
    *rc = slw_launchable_retire(&r->launchable, NULL, 0, 0, &err);
    if (!m->is[LAUNCHABLE]) return SLW_E_USAGE;
    m->is[LAUNCHABLE] = 0;
    return SLW_OK;
}

static slw_code op_fail(real *r, model *m, slw_code *rc) {
    (void)r;
    m->fails = !m->fails;
    driver_fails(m->fails);
    return *rc = SLW_OK;
}

static const operation operations[] = {
    {"lookup", op_lookup}, {"hydrate", op_hydrate}, {"load", op_load},     {"make", op_make},
    {"launch", op_launch}, {"share", op_share},     {"retire", op_retire}, {"discard", op_discard_first_owners},
    {"fail", op_fail},
};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

/* Sequences that begin with the way to each phase, so that short ones reach everything. */
static const char *const beginnings[] = {"", "01", "012", "0123"};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEPTH 3
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEPTH 3
#else
#define DEPTH 4
#endif
#else
#define DEPTH 4
#endif

static void check_same(const real *r, const model *m, const char *sequence) {
    const void *variables[VARIABLES] = {r->cached,         r->hydrated,     r->loaded,          r->launchable,
                                        r->hydrated_share, r->loaded_share, r->launchable_share};
    for (int i = 0; i < VARIABLES; i++)
        ck_assert_msg((variables[i] != NULL) == m->is[i], "after %s: variable %d", sequence, i);
    /* A module is there exactly as long as somebody could launch it, or retired. */
    const int owners = m->is[LOADED] + m->is[LAUNCHABLE] + m->is[LOADED_SHARE] + m->is[LAUNCHABLE_SHARE];
    if (owners > 0) ck_assert_msg(module_is_there(), "after %s: no module", sequence);
}

static void run_sequence(const char *sequence) {
    real r;
    model m;
    memset(&r, 0, sizeof r);
    memset(&m, 0, sizeof m);
    for (const char *at = sequence; *at != '\0'; at++) {
        const operation *op = &operations[*at - '0'];
        const real before = r;
        slw_code rc = SLW_OK;
        const slw_code expected = op->run(&r, &m, &rc);
        ck_assert_msg(rc == expected, "%s at %zu (%s): %s, not %s: %s", sequence, (size_t)(at - sequence), op->name,
                      slw_code_name(rc), slw_code_name(expected), err.message);
        if (rc != SLW_OK) ck_assert_mem_eq(&r, &before, sizeof r);
        check_same(&r, &m, sequence);
    }
    driver_fails(0);
    slw_code rc = SLW_OK;
    op_discard_first_owners(&r, &m, &rc);
    op_discard_first_owners(&r, &m, &rc);
}

START_TEST(all_short_sequences) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    world.event_count = KIT_EVENTS;
    const char *beginning = beginnings[_i];
    const size_t start = strlen(beginning);
    uint64_t blocks = 0;
    long total = 1;
    for (int i = 0; i < DEPTH; i++) total *= OPERATIONS;
    for (long n = 0; n < total; n++) {
        char sequence[16];
        memcpy(sequence, beginning, start + 1);
        long code = n;
        for (int i = 0; i < DEPTH; i++, code /= OPERATIONS)
            sequence[start + (size_t)i] = (char)('0' + code % OPERATIONS);
        sequence[start + DEPTH] = '\0';
        run_sequence(sequence);
        /* The one module may be loaded and retired; nothing else is alive. */
        if (n == 0) {
            slw_device_close(&world.device);
            kit_open_device(&world);
            blocks = world.heap.live_blocks;
        } else if (!module_is_there()) {
            ck_assert_msg(world.heap.live_blocks == blocks, "after %s: %u blocks, not %u", sequence,
                          (unsigned)world.heap.live_blocks, (unsigned)blocks);
        }
        /* Each sequence begins with a device without modules. */
        if (module_is_there()) {
            slw_device_close(&world.device);
            kit_open_device(&world);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle model");
    TCase *c = tcase_create("model");
    tcase_set_timeout(c, 900);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, all_short_sequences, 0, (int)(sizeof beginnings / sizeof *beginnings));
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
