/* doctor: what this machine has. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct findings {
    cli_places places;
    slw_store *store;
    slw_store *for_compiler; /* where the cache cannot be opened: a compiler needs one, and asks nothing of it */
    slw_store_health health;
    slw_code store_code;
    slw_error store_error;
    slw_memo *memo;
    slw_compiler *compiler;
    slw_code compiler_code;
    slw_error compiler_error;
} findings;

/* Tells of a compiler also where the cache is not trusted. */
static slw_code open_any_store(findings *f) {
    if (f->store != NULL) return SLW_OK;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = "/nonexistent/slipway";
    options.read_only = 1;
    options.cancel = cli_interrupt_token();
    return slw_store_open(&options, &f->for_compiler, &f->compiler_error);
}

static slw_code examine(const cli_options *options, findings *f, slw_error *err) {
    char asked[16];
    cli_device_kind(options, asked);
    if (options->driver_library != NULL && strcmp(asked, "host") == 0)
        return cli_usage(err, "BAD_OPTION", "the host has no driver library");
    if (cli_find_places(options, &f->places, err) != 0) return err->code;
    if (options->probe && (options->read_only || f->places.cache == NULL))
        return cli_usage(err, "READ_ONLY", "--probe writes into the cache");
    f->store_code = cli_open_store(options, &f->places, NULL, NULL, &f->store, &f->store_error);
    if (f->store_code == SLW_OK)
        f->store_code = slw_store_examine(f->store, options->probe, &f->health, &f->store_error);
    f->memo = cli_open_memo(options, &f->places);
    f->compiler_code = open_any_store(f);
    if (f->compiler_code == SLW_OK)
        f->compiler_code = cli_open_compiler(options, f->store != NULL ? f->store : f->for_compiler, f->memo,
                                             &f->compiler, &f->compiler_error);
    return SLW_OK;
}

static const char *presence(slw_presence p) {
    return p == SLW_PRESENCE_YES ? "yes" : p == SLW_PRESENCE_MAYBE ? "maybe" : "no";
}

/* --driver-library is of the kind that --device says; without it, whichever vendor's it proves to be. */
static int named_for(const cli_options *options, const char *kind) {
    char asked[16];
    cli_device_kind(options, asked);
    if (options->driver_library == NULL || strcmp(kind, "host") == 0) return 0;
    return asked[0] == '\0' || strcmp(asked, kind) == 0;
}

/* By index from 0; 0 past the end. */
static int examine_driver(const cli_options *options, size_t i, slw_driver_status *status) {
    static const char *const kinds[] = {"host", "cuda", "hip"};
    if (i < sizeof kinds / sizeof *kinds && named_for(options, kinds[i]))
        return slw_driver_examine_library(kinds[i], options->driver_library, status);
    return slw_driver_examine(i, status);
}

static void put_drivers(cli_json *json, const cli_options *options) {
    put_array(json, "drivers");
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    for (size_t i = 0; examine_driver(options, i, &status); i++) {
        put_object(json, NULL);
        put_text(json, "name", status.kind);
        put_text(json, "status", presence(status.presence));
        put_text(json, "code", status.code != SLW_OK ? slw_code_name(status.code) : NULL);
        put_text(json, "path", status.path[0] != '\0' ? status.path : NULL);
        put_text(json, "why", status.why[0] != '\0' ? status.why : NULL);
        put_end(json, '}');
    }
    put_end(json, ']');
}

static void put_ability(cli_json *json, const char *key, int known) {
    if (known < 0)
        put_null(json, key);
    else
        put_bool(json, key, known);
}

static void put_cache(cli_json *json, const findings *f) {
    put_object(json, "cache");
    put_text(json, "root", f->places.cache);
    if (f->places.cache == NULL || f->store_code != SLW_OK) {
        put_text(json, "trust", f->places.cache == NULL ? NULL : "no");
        put_null(json, "file_system");
        put_null(json, "abilities");
        if (f->places.cache == NULL)
            put_text(json, "why", f->places.why_no_cache);
        else
            put_error(json, "error", &f->store_error);
    } else {
        put_text(json, "trust", f->health.trusted ? "yes" : "no");
        if (f->health.why_not_trusted[0] != '\0') put_text(json, "why_not_trusted", f->health.why_not_trusted);
        put_bool(json, "exists", f->health.exists);
        put_text(json, "file_system", f->health.file_system[0] != '\0' ? f->health.file_system : NULL);
        put_object(json, "abilities");
        put_bool(json, "local", f->health.local_file_system);
        put_ability(json, "rename_no_replace", f->health.no_replace);
        put_ability(json, "locks", f->health.locks);
        put_end(json, '}');
    }
    put_end(json, '}');
}

static void put_compilers(cli_json *json, const findings *f) {
    put_array(json, "compilers");
    if (f->compiler != NULL) {
        const slw_identity *identity = slw_compiler_identity(f->compiler);
        slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
        slw_error ignored = SLW_ERROR_INIT;
        put_object(json, NULL);
        put_text(json, "path", slw_compiler_path(f->compiler));
        put_bool(json, "usable", slw_identity_usable(identity, &ignored) == SLW_OK);
        put_array(json, "failures");
        const char *component = NULL, *reason = NULL;
        for (size_t i = 0; slw_identity_failure(identity, i, &component, &reason); i++) {
            put_object(json, NULL);
            put_text(json, "component", component);
            put_text(json, "reason", reason);
            put_end(json, '}');
        }
        put_end(json, ']');
        if (slw_identity_get_cost(identity, &cost, &ignored) == SLW_OK) {
            put_u64(json, "memo_files", cost.memo_files);
            put_u64(json, "read_files", cost.read_files);
            put_u64(json, "read_bytes", cost.read_bytes);
        }
        put_end(json, '}');
    } else if (f->compiler_code != SLW_OK) {
        put_object(json, NULL);
        put_null(json, "path");
        put_bool(json, "usable", 0);
        put_error(json, "error", &f->compiler_error);
        put_end(json, '}');
    }
    put_end(json, ']');
}

/* Looked for, never started: in PATH, then in the usual places. */
static slw_code find_disassembler(slw_image_kind kind, slw_text *path, slw_error *err) {
    slw_disassemble_options how = SLW_DISASSEMBLE_OPTIONS_INIT;
    how.search_path = secure_getenv("PATH");
    slw_code code = slw_disassembler_find(&how, kind, path, err);
    if (code != SLW_E_TOOL_MISSING || how.search_path == NULL) return code;
    how.search_path = NULL;
    return slw_disassembler_find(&how, kind, path, err);
}

static const slw_image_kind disassembled[] = {SLW_IMAGE_CUBIN, SLW_IMAGE_HSACO};
#define DISASSEMBLED (sizeof disassembled / sizeof *disassembled)

static void put_disassemblers(cli_json *json) {
    put_array(json, "disassemblers");
    for (size_t i = 0; i < DISASSEMBLED; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_text path = SLW_TEXT_INIT;
        const slw_code code = find_disassembler(disassembled[i], &path, &err);
        put_object(json, NULL);
        put_text(json, "kind", slw_image_kind_name(disassembled[i]));
        put_text(json, "path", path.data);
        if (code != SLW_OK) put_error(json, "error", &err);
        put_end(json, '}');
        slw_text_release(&path);
    }
    put_end(json, ']');
}

static void print_disassemblers(void) {
    for (size_t i = 0; i < DISASSEMBLED; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_text path = SLW_TEXT_INIT;
        const slw_code code = find_disassembler(disassembled[i], &path, &err);
        printf("disassembler of %s %s%s\n", slw_image_kind_name(disassembled[i]),
               code == SLW_OK ? "" : "none: ", code == SLW_OK ? path.data : err.message);
        slw_text_release(&path);
    }
}

static int print_text(const findings *f, const cli_options *options) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    for (size_t i = 0; examine_driver(options, i, &status); i++) {
        printf("driver %-5s %-6s %s\n", status.kind, presence(status.presence), status.why);
        if (status.path[0] != '\0') printf("  %s\n", status.path);
    }
    printf("cache  %s%s%s\n",
           f->places.cache ? f->places.cache : "none: ", f->places.cache ? "" : f->places.why_no_cache,
           f->store_code != SLW_OK                       ? "  not usable"
           : f->health.exists || f->places.cache == NULL ? ""
                                                         : "  (not there yet)");
    if (f->store_code != SLW_OK) printf("  %s\n", f->store_error.message);
    if (f->store_code == SLW_OK && f->places.cache != NULL && f->health.file_system[0] != '\0')
        printf("  on %s%s\n", f->health.file_system, f->health.local_file_system ? "" : ", not local");
    print_disassemblers();
    printf("private builds in %s\nmemo   %s\nsha256 %s\n", f->places.private_root,
           f->places.memo ? f->places.memo : "none", slw_sha256_implementation());
    if (f->compiler == NULL) {
        printf("compiler none: %s\n", f->compiler_error.message);
        return 0;
    }
    printf("compiler %s\n", slw_compiler_path(f->compiler));
    const char *component = NULL, *reason = NULL;
    for (size_t i = 0; slw_identity_failure(slw_compiler_identity(f->compiler), i, &component, &reason); i++)
        printf("  %s not proved: %s\n", component, reason);
    return 0;
}

int verb_doctor(const cli_options *options, slw_error *err) {
    static findings f;
    f.health = (slw_store_health)SLW_STORE_HEALTH_INIT;
    f.store_error = (slw_error)SLW_ERROR_INIT;
    f.compiler_error = (slw_error)SLW_ERROR_INIT;
    int status;
    cli_json json;
    if (examine(options, &f, err) != SLW_OK) {
        status = cli_fail(options, err);
    } else if (!options->json) {
        status = print_text(&f, options);
    } else if ((status = put_open(&json)) == 0) {
        put_drivers(&json, options);
        put_cache(&json, &f);
        put_text(&json, "private", f.places.private_root);
        put_text(&json, "memo", f.places.memo);
        put_text(&json, "sha256", slw_sha256_implementation());
        put_compilers(&json, &f);
        put_disassemblers(&json);
        status = put_close(&json);
    }
    slw_compiler_close(&f.compiler);
    slw_memo_close(&f.memo);
    slw_store_close(&f.store);
    slw_store_close(&f.for_compiler);
    cli_free_places(&f.places);
    return status;
}
