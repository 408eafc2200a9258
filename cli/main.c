/* The slipway command: verbs, and how failures are said. */
#include "cli.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct verb {
    const char *name;
    int (*run)(const cli_options *options, slw_error *err);
    size_t least_files, most_files;
} verbs[] = {
    {"run", verb_run, 1, 1},       {"ls", verb_ls, 0, 0},
    {"show", verb_show, 1, 1},     {"verify", verb_verify, 0, 0},
    {"digest", verb_digest, 1, 1}, {"lookup", verb_lookup, 1, 1},
    {"put", verb_put, 2, 2},       {"get", verb_get, 2, 2},
    {"doctor", verb_doctor, 0, 0}, {"inspect", verb_inspect, 1, CLI_MAX_LIST},
    {"stats", verb_stats, 0, 0},   {"why", verb_why, 1, 1},
    {"warm", verb_warm, 1, 1},
};

/* Verbs that have a name already and nothing behind it yet. */
static const char *const later[] = {"gc", "pack", "promote", "restore", "export", "import"};

int cli_fail(const cli_options *options, const slw_error *err) {
    if (options->json) {
        cli_json json;
        if (put_open(&json) == 0) {
            put_error(&json, "error", err);
            (void)put_close(&json);
        }
        return slw_code_exit_status(err->code);
    }
    fprintf(stderr, "slipway: %s%s%s: %s\n", slw_code_name(err->code), err->reason ? " " : "",
            err->reason ? err->reason : "", cli_plain(err->message));
    if (err->path[0] != '\0') {
        fprintf(stderr, "  at %s", cli_plain(err->path));
        if (err->present & SLW_ERROR_HAS_LINE) fprintf(stderr, ":%u", err->line);
        if (err->present & SLW_ERROR_HAS_COLUMN) fprintf(stderr, ":%u", err->column);
        if (err->present & SLW_ERROR_HAS_OFFSET)
            fprintf(stderr, " (offset %llu)", (unsigned long long)err->offset_bytes);
        fputc('\n', stderr);
    }
    if (err->subject[0] != '\0') fprintf(stderr, "  subject: %s\n", cli_plain(err->subject));
    if (err->present & SLW_ERROR_HAS_REQUIRED)
        fprintf(stderr, "  %s: %llu needed, %llu allowed (%s)\n", err->resource ? err->resource : "amount",
                (unsigned long long)err->required, (unsigned long long)err->limit, err->unit ? err->unit : "");
    for (const char *at = err->tried; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        char line[sizeof err->tried];
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        fprintf(stderr, "  tried: %s\n", cli_plain(line));
        at += n + (at[n] == '\n');
    }
    if (err->diagnostics != NULL && err->diagnostics_size > 0) {
        cli_put_lines(stderr, err->diagnostics);
        fputc('\n', stderr);
    }
    if (err->hint != NULL) fprintf(stderr, "  hint: %s\n", err->hint);
    return slw_code_exit_status(err->code);
}

static int dispatch(const cli_options *options, slw_error *err) {
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(options->verb, verbs[i].name) != 0) continue;
        if (options->files.count < verbs[i].least_files || options->files.count > verbs[i].most_files) {
            (void)cli_usage(err, "BAD_ARGUMENTS", "%s takes %zu argument%s, not %zu", options->verb,
                            verbs[i].least_files, verbs[i].least_files == 1 ? "" : "s", options->files.count);
            return cli_fail(options, err);
        }
        return verbs[i].run(options, err);
    }
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        if (strcmp(options->verb, later[i]) != 0) continue;
        err->code = SLW_E_UNSUPPORTED;
        err->reason = "LATER_VERSION";
        snprintf(err->message, sizeof err->message, "%s is not in this version", options->verb);
        return cli_fail(options, err);
    }
    (void)cli_usage(err, "UNKNOWN_VERB", "no such verb: %s", options->verb);
    return cli_fail(options, err);
}

/* What was printed has to have arrived: a full disk is a failure, not a shorter table. */
static int printed(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "slipway: STORAGE: standard output could not be written\n");
    return status == 0 ? slw_code_exit_status(SLW_E_STORAGE) : status;
}

int main(int argc, char **argv) {
    /* A file-size limit is then an error like any other, and a private build is not lost to it. */
    (void)signal(SIGXFSZ, SIG_IGN);
    static cli_options options; /* its lists are large */
    static char diagnostics[262144];
    slw_error err = SLW_ERROR_INIT;
    err.diagnostics = diagnostics;
    err.diagnostics_capacity = sizeof diagnostics;
    const int status = cli_parse(argc, argv, &options);
    if (status != 0) return status;
    if (options.version) {
        if (options.json)
            printf("{\"version\":\"%s\"}\n", slw_version());
        else
            printf("slipway %s\n", slw_version());
        return printed(0);
    }
    if (options.help) {
        cli_help(options.json ? stderr : stdout);
        if (options.json) printf("{}\n");
        return printed(0);
    }
    if (options.verb == NULL) {
        (void)cli_usage(&err, "NO_VERB", "no verb given");
        if (!options.json) cli_help(stderr);
        return cli_fail(&options, &err);
    }
    const int end = printed(dispatch(&options, &err));
    cli_interrupt_obey();
    return end;
}
