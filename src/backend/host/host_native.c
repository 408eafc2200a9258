#include "host_native.h"

#include <slipway/key.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "memo.h"
#include "memory.h"
#include "tool_probe.h"

#define CPUINFO_MAX 4194304u

static int is_machine(const char *option) {
    return strncmp(option, "-m", 2) == 0 && strcmp(option, "-mllvm") != 0;
}

/* What the first processor says of itself, without the figures that change from moment to moment; 0: not known. */
static int processor_text(const slw_allocator *allocator, slwi_buffer *out) {
    static const char *const lines[] = {
        "vendor_id",       "cpu family", "model",       "stepping",     "microcode", "flags", "cache size",
        "CPU implementer", "CPU part",   "CPU variant", "CPU revision", "Features",  "isa",   "uarch",
    };
    slwi_buffer text;
    slwi_buffer_init(&text, allocator, CPUINFO_MAX);
    int known = 0;
    if (slwi_read_file("/proc/cpuinfo", &text, NULL) == SLW_OK) {
        const char *at = text.data;
        const char *end = at + text.size;
        while (at < end && *at != '\n') {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            if (stop == NULL) stop = end;
            for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
                size_t size = strlen(lines[i]);
                if ((size_t)(stop - at) < size || memcmp(at, lines[i], size) != 0) continue;
                slwi_buffer_append(out, at, (size_t)(stop - at));
                slwi_buffer_append_char(out, '\n');
                known = 1;
                break;
            }
            at = stop < end ? stop + 1 : end;
        }
    }
    slwi_buffer_free(&text);
    return known && !out->failed;
}

/* 1 and the memo's key when this question may be remembered. */
static int question_key(const slwi_host_toolchain *toolchain, const slwi_tool_list *question, slw_digest *out) {
    slwi_buffer text;
    char proof[SLW_DIGEST_TEXT_SIZE];
    if (toolchain->memo == NULL || !toolchain->driver_proved) return 0;
    slw_digest_format(&toolchain->driver_proof, proof);
    slwi_buffer_init(&text, &toolchain->allocator, SIZE_MAX);
    slwi_buffer_append_text(&text, "slipway host native 1\n");
    slwi_buffer_append_text(&text, proof);
    slwi_buffer_append_char(&text, '\n');
    for (size_t i = 0; i < question->count; i++)
        slwi_buffer_append(&text, question->items[i], strlen(question->items[i]) + 1);
    int known = processor_text(&toolchain->allocator, &text);
    if (known) slw_sha256((slw_bytes){text.data, text.size}, out);
    slwi_buffer_free(&text);
    return known;
}

/* The command line of cc1: for gcc its machine options are the driver's too, for clang they have other names. */
static void read_gcc(const slwi_tool_list *words, slwi_tool_list *out) {
    for (size_t i = 1; i < words->count; i++) {
        if (is_machine(words->items[i]) || strncmp(words->items[i], "--param=", 8) == 0) {
            slwi_tool_list_add(out, words->items[i]);
        } else if (strcmp(words->items[i], "--param") == 0 && i + 1 < words->count) {
            slwi_tool_list_add_format(out, "--param=%s", words->items[++i]);
        }
    }
}

static void read_clang(const slwi_tool_list *words, slwi_tool_list *out) {
    for (size_t i = 1; i + 1 < words->count; i++) {
        const char *word = words->items[i];
        const char *value = words->items[i + 1];
        if (strcmp(word, "-target-cpu") == 0) {
#if defined(__aarch64__)
            slwi_tool_list_add_format(out, "-mcpu=%s", value);
#else
            slwi_tool_list_add_format(out, "-march=%s", value);
#endif
        } else if (strcmp(word, "-tune-cpu") == 0) {
            slwi_tool_list_add_format(out, "-mtune=%s", value);
        } else if (strcmp(word, "-target-feature") == 0) {
            slwi_tool_list_add(out, "-Xclang");
            slwi_tool_list_add(out, "-target-feature");
            slwi_tool_list_add(out, "-Xclang");
            slwi_tool_list_add(out, value);
        }
    }
}

static slw_code read_answer(const slwi_host_toolchain *toolchain, const slwi_tool_probe *probe, slwi_tool_list *out) {
    slwi_tool_lines lines = slwi_tool_probe_lines(probe);
    slw_bytes line;
    slwi_tool_list words;
    while (out->count == 0 && slwi_tool_next_line(&lines, &line)) {
        if (line.size == 0 || ((const char *)line.data)[0] != ' ') continue;
        slwi_tool_list_init(&words, &toolchain->allocator);
        slwi_tool_split_line(line, &words);
        if (words.count > 2 && toolchain->answer.family == SLWI_TOOL_GCC) read_gcc(&words, out);
        if (words.count > 2 && toolchain->answer.family == SLWI_TOOL_CLANG) read_clang(&words, out);
        if (words.failed) out->failed = 1;
        slwi_tool_list_free(&words);
    }
    const slw_code rc = slwi_tool_list_status(out, probe->err);
    if (rc != SLW_OK || out->count != 0) return rc;
    slwi_error_path(probe->err, toolchain->driver);
    return slwi_fail(probe->err, SLW_E_UNSUPPORTED, "NATIVE", "the compiler did not say what \"native\" is here");
}

static slw_code ask(const slwi_host_toolchain *toolchain, const slwi_tool_list *question, slw_cancel *cancel,
                    slwi_tool_list *out, slw_error *err) {
    static const char *const preprocess[] = {"-###", "-E", "-x", "c", "/dev/null", NULL};
    slwi_tool_probe probe;
    slwi_tool_probe_init(&probe, &toolchain->allocator);
    probe.program = toolchain->driver;
    probe.path = toolchain->path;
    probe.cancel = cancel;
    probe.err = err;
    slw_code rc = slwi_tool_probe_ask(&probe, preprocess, (const char *const *)question->items);
    if (rc == SLW_OK && probe.status != 0) {
        slwi_error_diagnostics(err, probe.output.data != NULL ? probe.output.data : "", probe.output.size);
        rc = slwi_fail(err, SLW_E_COMPILE_FAILED, "NATIVE", "the compiler refuses the machine options");
    }
    if (rc == SLW_OK) rc = read_answer(toolchain, &probe, out);
    slwi_tool_probe_free(&probe);
    return rc;
}

/* One option a line; options that made it through the allow-list hold no line break. */
static int recall(const slwi_host_toolchain *toolchain, const slw_digest *key, slwi_tool_list *out) {
    slw_text text = SLW_TEXT_INIT;
    if (slwi_memo_get_answer(toolchain->memo, key, &text, NULL) != SLW_OK) return 0;
    const char *at = text.data;
    const char *end = at + text.size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) break;
        slwi_tool_list_add_bytes(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
    slw_text_release(&text);
    return out->count != 0;
}

static void remember(const slwi_host_toolchain *toolchain, const slw_digest *key, const slwi_tool_list *expanded) {
    slwi_buffer text;
    slwi_buffer_init(&text, &toolchain->allocator, SIZE_MAX);
    for (size_t i = 0; i < expanded->count; i++) {
        slwi_buffer_append_text(&text, expanded->items[i]);
        slwi_buffer_append_char(&text, '\n');
    }
    if (!text.failed) slwi_memo_put_answer(toolchain->memo, key, (slw_bytes){text.data, text.size});
    slwi_buffer_free(&text);
}

/* The options again, with the expansion where the first machine option stood. */
static slw_code replace(slwi_host_options *options, const slwi_tool_list *expanded, slw_error *err) {
    slwi_tool_list all;
    int done = 0;
    slwi_tool_list_init(&all, options->compile.allocator);
    for (size_t i = 0; i < options->compile.count; i++) {
        if (!is_machine(options->compile.items[i])) {
            slwi_tool_list_add(&all, options->compile.items[i]);
        } else if (!done) {
            slwi_tool_list_add_all(&all, expanded);
            done = 1;
        }
    }
    slw_code rc = slwi_tool_list_status(&all, err);
    if (rc != SLW_OK) {
        slwi_tool_list_free(&all);
        return rc;
    }
    slwi_tool_list_free(&options->compile);
    options->compile = all;
    return SLW_OK;
}

slw_code slwi_host_expand_native(const slwi_host_toolchain *toolchain, slwi_host_options *options, slw_cancel *cancel,
                                 slw_error *err) {
    slwi_tool_list question;
    slwi_tool_list expanded;
    slw_digest key;
    slwi_tool_list_init(&question, &toolchain->allocator);
    slwi_tool_list_init(&expanded, &toolchain->allocator);
    for (size_t i = 0; i < options->compile.count; i++) {
        if (is_machine(options->compile.items[i])) slwi_tool_list_add(&question, options->compile.items[i]);
    }
    slw_code rc = slwi_tool_list_status(&question, err);
    if (rc == SLW_OK) {
        int may_remember = question_key(toolchain, &question, &key);
        if (!may_remember || !recall(toolchain, &key, &expanded)) {
            rc = ask(toolchain, &question, cancel, &expanded, err);
            if (rc == SLW_OK && may_remember) remember(toolchain, &key, &expanded);
        }
    }
    if (rc == SLW_OK) rc = replace(options, &expanded, err);
    slwi_tool_list_free(&question);
    slwi_tool_list_free(&expanded);
    return rc;
}
