#include "double_core.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ENTRIES    160
#define MOST_LOGGED     65536u
#define MOST_VIOLATIONS 64u
#define MOST_HIDDEN     64u

typedef struct rule {
    unsigned skip; /* calls that still pass */
    unsigned times;
    int code;
    atomic_uint delay_us;
} rule;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

long double_settings[DOUBLE_SETTINGS];
double_extras double_last;
static rule rules[MOST_ENTRIES];
static unsigned counts[MOST_ENTRIES];
static unsigned injected_count;
static double_call *log_entries;
static unsigned log_used;
static uint64_t order;
static char violation_text[MOST_VIOLATIONS][256];
static unsigned violation_count;
static char hidden_names[MOST_HIDDEN][64];
static unsigned hidden_count;
static pid_t owner;

/* ---- Threads --------------------------------------------------------------------------------------------- */

/* Kept in a list and not as _Thread_local: the leak checker trips over thread storage of a library that was opened. */
typedef struct record record;
struct record {
    double_thread thread; /* first */
    uint64_t epoch;
    record *next, *previous;
};
static pthread_key_t thread_key;
static record *records;
static uint64_t thread_numbers;
static uint64_t epoch = 1;

static record *record_new(void) {
    record *const fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) abort();
    fresh->next = records;
    if (records != NULL) records->previous = fresh;
    records = fresh;
    (void)pthread_setspecific(thread_key, fresh);
    return fresh;
}

/* Under the lock. */
double_thread *double_self(void) {
    record *mine = pthread_getspecific(thread_key);
    if (mine == NULL) mine = record_new();
    if (mine->epoch != epoch) {
        mine->thread = (double_thread){.number = ++thread_numbers, .injected = DOUBLE_GO};
        mine->epoch = epoch;
    }
    return &mine->thread;
}

static void check_balance(const double_thread *thread) {
    if (thread->pushes != 0) double_violation("a thread ends with %d contexts pushed and not popped", thread->pushes);
    if (thread->capture_mode != 0) double_violation("a thread ends with capture mode %d", thread->capture_mode);
}

static void thread_ends(void *value) {
    record *const mine = value;
    pthread_mutex_lock(&lock);
    if (mine->epoch == epoch) check_balance(&mine->thread);
    if (mine->next != NULL) mine->next->previous = mine->previous;
    if (mine->previous != NULL) {
        mine->previous->next = mine->next;
    } else {
        records = mine->next;
    }
    pthread_mutex_unlock(&lock);
    free(mine);
}

static void hold(void) {
    pthread_mutex_lock(&lock);
}
static void let_go(void) {
    pthread_mutex_unlock(&lock);
}

static void settings_reset(void) {
    memcpy(double_settings, double_hooks_of.defaults, sizeof double_settings);
}

__attribute__((constructor)) static void library_starts(void) {
    (void)pthread_key_create(&thread_key, thread_ends);
    (void)pthread_atfork(hold, let_go, let_go);
    settings_reset();
}

int double_in_child(void) {
    return owner != 0 && owner != getpid();
}

void double_wait(void) {
    pthread_cond_wait(&condition, &lock);
}

void double_changed(void) {
    pthread_cond_broadcast(&condition);
}

/* ---- Calls ----------------------------------------------------------------------------------------------- */

void double_violation(const char *format, ...) {
    char text[sizeof violation_text[0]];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (violation_count < MOST_VIOLATIONS) memcpy(violation_text[violation_count], text, sizeof text);
    violation_count++;
    if (double_settings[DOUBLE_STRICT]) {
        fprintf(stderr, "double: %s\n", text);
        abort();
    }
}

int double_captures(const void *stream) {
    return stream != NULL && (uintptr_t)stream == (uintptr_t)double_settings[DOUBLE_CAPTURING_STREAM];
}

int double_break_capture(int code) {
    double_settings[DOUBLE_CAPTURES_BROKEN]++;
    return code;
}

/* ---- The end of the process ------------------------------------------------------------------------------ */

static char exit_path[4096];
static int exit_installed, is_over;

static void say_at_exit(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say_at_exit(const char *format, ...) {
    FILE *const file = exit_path[0] == '\0' ? NULL : fopen(exit_path, "a");
    if (file == NULL) return;
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(file, format, arguments);
    va_end(arguments);
    (void)fclose(file);
}

/* The real one takes itself down in such a handler: what is installed later runs before it, what was installed earlier,
   and destructors, after it. */
static void process_ends(void) {
    pthread_mutex_lock(&lock);
    if (!double_in_child()) {
        unsigned calls = 0;
        for (unsigned i = 0; i < double_hooks_of.entry_count; i++) calls += counts[i];
        say_at_exit("%u calls before the end\n", calls);
        is_over = owner != 0;
    }
    pthread_mutex_unlock(&lock);
}

void double_mark_process(void) {
    owner = getpid();
    if (!exit_installed) exit_installed = atexit(process_ends) == 0;
}

int double_is_over(void) {
    return is_over && !double_in_child();
}

/* What no call may do, whatever it asks. */
static void watch(unsigned call) {
    const double_entry *const entry = &double_hooks_of.entries[call];
    if (double_is_over()) {
        say_at_exit("%s\n", entry->name);
        double_violation("%s after the library's exit handler", entry->name);
    } else if (double_in_child() && (entry->flags & DOUBLE_FREE) == 0) {
        double_violation("%s in a forked child", entry->name);
    }
}

/* The rule's code when this call is one that fails. */
static int injected(unsigned call) {
    rule *const r = &rules[call];
    if (r->times == 0) return DOUBLE_GO;
    if (r->skip > 0) {
        r->skip--;
        return DOUBLE_GO;
    }
    r->times--;
    injected_count++;
    return r->code;
}

static atomic_int delayed, most_delayed;

static void wait_out(unsigned microseconds) {
    const int now = atomic_fetch_add(&delayed, 1) + 1;
    int most = atomic_load(&most_delayed);
    while (now > most && !atomic_compare_exchange_weak(&most_delayed, &most, now)) {
    }
    usleep(microseconds);
    atomic_fetch_sub(&delayed, 1);
}

void double_start_helper(void) {
    pthread_mutex_lock(&lock);
    const long wanted = double_settings[DOUBLE_INIT_FORKS];
    pthread_mutex_unlock(&lock);
    if (!wanted) return;
    const pid_t helper = fork();
    if (helper == 0) _exit(0);
    (void)waitpid(helper, NULL, 0);
}

int double_begin(unsigned call) {
    const unsigned delay = atomic_load_explicit(&rules[call].delay_us, memory_order_relaxed);
    if (delay != 0) wait_out(delay);
    pthread_mutex_lock(&lock);
    double_thread *const thread = double_self();
    thread->injected = DOUBLE_GO;
    watch(call);
    const int state = double_hooks_of.gate(call);
    if (state != DOUBLE_GO) return state;
    const int code = injected(call);
    if (code == DOUBLE_GO || (double_hooks_of.entries[call].flags & DOUBLE_ACTS) == 0) return code;
    thread->injected = code;
    return DOUBLE_GO;
}

int double_end(unsigned call, int code) {
    double_thread *const thread = double_self();
    if (thread->injected != DOUBLE_GO) code = thread->injected;
    if (log_entries == NULL) log_entries = malloc(MOST_LOGGED * sizeof *log_entries);
    if (log_entries != NULL && log_used < MOST_LOGGED) {
        log_entries[log_used++] = (double_call){++order, thread->number, double_hooks_of.entries[call].name, code};
    }
    counts[call]++;
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- Control --------------------------------------------------------------------------------------------- */

/* Two versions of an entry point share a name: what is asked of it is asked of both. Starts with `at` 0. */
static int find(const char *name, unsigned *at) {
    while (*at < double_hooks_of.entry_count) {
        const unsigned call = (*at)++;
        if (strcmp(double_hooks_of.entries[call].name, name) == 0) return (int)call;
    }
    return -1;
}

static void control_reset(void) {
    pthread_mutex_lock(&lock);
    double_hooks_of.reset();
    settings_reset();
    for (unsigned i = 0; i < MOST_ENTRIES; i++) {
        rules[i].times = 0;
        atomic_store(&rules[i].delay_us, 0);
        counts[i] = 0;
    }
    injected_count = log_used = violation_count = hidden_count = 0;
    atomic_store(&most_delayed, 0);
    double_last = (double_extras){.programmatic = -1};
    exit_path[0] = '\0';
    owner = 0;
    is_over = 0;
    epoch++;
    pthread_mutex_unlock(&lock);
}

static void control_set(double_setting setting, long value) {
    pthread_mutex_lock(&lock);
    double_settings[setting] = value;
    if (setting == DOUBLE_HOLD && value == 0) double_hooks_of.let_go();
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&lock);
}

static long control_get(double_setting setting) {
    if (setting == DOUBLE_DELAYED_AT_ONCE) return atomic_load(&most_delayed);
    pthread_mutex_lock(&lock);
    const long value = double_hooks_of.get(setting);
    pthread_mutex_unlock(&lock);
    return value;
}

static int control_inject(const char *name, unsigned nth, int code, unsigned times) {
    unsigned at = 0;
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int call; (call = find(name, &at)) >= 0; found = 1) {
        rules[call].skip = nth == 0 ? 0 : nth - 1;
        rules[call].times = times;
        rules[call].code = code;
        injected_count = 0;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static unsigned locked_read(const unsigned *number) {
    pthread_mutex_lock(&lock);
    const unsigned value = *number;
    pthread_mutex_unlock(&lock);
    return value;
}

static unsigned control_failed(void) {
    return locked_read(&injected_count);
}

static int control_delay(const char *name, unsigned microseconds) {
    unsigned at = 0;
    int found = 0;
    for (int call; (call = find(name, &at)) >= 0; found = 1) atomic_store(&rules[call].delay_us, microseconds);
    return found;
}

static void control_hide(const char *name) {
    pthread_mutex_lock(&lock);
    if (hidden_count < MOST_HIDDEN) {
        (void)snprintf(hidden_names[hidden_count++], sizeof hidden_names[0], "%s", name);
    }
    pthread_mutex_unlock(&lock);
}

int double_is_hidden(const char *name) {
    for (unsigned i = 0; i < hidden_count; i++) {
        if (strcmp(hidden_names[i], name) == 0) return 1;
    }
    return 0;
}

static int control_hidden(const char *name) {
    pthread_mutex_lock(&lock);
    const int hidden = double_is_hidden(name) || double_hooks_of.hidden(name);
    pthread_mutex_unlock(&lock);
    return hidden;
}

static unsigned control_call_names(void) {
    return double_hooks_of.entry_count;
}

static const char *control_call_name(unsigned index) {
    return index < double_hooks_of.entry_count ? double_hooks_of.entries[index].name : "";
}

static void control_log_clear(void) {
    pthread_mutex_lock(&lock);
    log_used = 0;
    memset(counts, 0, sizeof counts);
    pthread_mutex_unlock(&lock);
}

static unsigned control_count(const char *name) {
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < double_hooks_of.entry_count; i++) {
        if (name == NULL || strcmp(double_hooks_of.entries[i].name, name) == 0) count += counts[i];
    }
    pthread_mutex_unlock(&lock);
    return count;
}

static unsigned control_log_size(void) {
    return locked_read(&log_used);
}

static int control_log_at(unsigned index, double_call *out) {
    pthread_mutex_lock(&lock);
    const int there = index < log_used;
    if (there) *out = log_entries[index];
    pthread_mutex_unlock(&lock);
    return there;
}

static unsigned control_violations(void) {
    return locked_read(&violation_count);
}

static const char *control_violation(unsigned index) {
    return index < locked_read(&violation_count) && index < MOST_VIOLATIONS ? violation_text[index] : "";
}

static void control_forgive(void) {
    pthread_mutex_lock(&lock);
    violation_count = 0;
    pthread_mutex_unlock(&lock);
}

static char *say_at;
static size_t say_left;
static unsigned say_count;
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    say_count++;
    va_list arguments;
    va_start(arguments, format);
    const int length = say_left == 0 ? 0 : vsnprintf(say_at, say_left, format, arguments);
    va_end(arguments);
    if (length <= 0) return;
    const size_t used = (size_t)length < say_left ? (size_t)length : say_left - 1;
    say_at += used;
    say_left -= used;
}

static unsigned control_outstanding(char *text, size_t text_size) {
    pthread_mutex_lock(&lock);
    if (text != NULL && text_size > 0) text[0] = '\0';
    say_at = text;
    say_left = text == NULL ? 0 : text_size;
    say_count = 0;
    double_hooks_of.outstanding(say);
    const unsigned count = say_count;
    pthread_mutex_unlock(&lock);
    return count;
}

static void control_last_launch(double_extras *out) {
    pthread_mutex_lock(&lock);
    *out = double_last;
    pthread_mutex_unlock(&lock);
}

static void control_write_exit(const char *path) {
    pthread_mutex_lock(&lock);
    (void)snprintf(exit_path, sizeof exit_path, "%s", path == NULL ? "" : path);
    pthread_mutex_unlock(&lock);
}

static int control_is_memory(uint64_t address, uint64_t size) {
    pthread_mutex_lock(&lock);
    const int is = double_memory_holds(address, size);
    pthread_mutex_unlock(&lock);
    return is;
}

static int control_thread_balance(void) {
    pthread_mutex_lock(&lock);
    const double_thread *const thread = double_self();
    const int balance = thread->pushes + thread->capture_mode;
    pthread_mutex_unlock(&lock);
    return balance;
}

static void control_lose_context(int device) {
    pthread_mutex_lock(&lock);
    double_hooks_of.lose_context(device);
    pthread_mutex_unlock(&lock);
}

DOUBLE_API const double_control *double_control_get(void) {
    static const double_control control = {
        .size = sizeof control,
        .reset = control_reset,
        .set = control_set,
        .get = control_get,
        .inject = control_inject,
        .failed = control_failed,
        .delay = control_delay,
        .hide = control_hide,
        .hidden = control_hidden,
        .call_names = control_call_names,
        .call_name = control_call_name,
        .log_clear = control_log_clear,
        .count = control_count,
        .log_size = control_log_size,
        .log_at = control_log_at,
        .violations = control_violations,
        .violation = control_violation,
        .forgive = control_forgive,
        .outstanding = control_outstanding,
        .last_launch = control_last_launch,
        .write_exit = control_write_exit,
        .is_memory = control_is_memory,
        .thread_balance = control_thread_balance,
        .lose_context = control_lose_context,
    };
    return &control;
}
