/* Options: one table for all verbs, and the places that options, environment and defaults give. */
#include "cli.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { FLAG, TEXT, LIST };

static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
    const char *verbs; /* NULL: of every verb */
    const char *help;
} table[] = {
    {"--cache", TEXT, offsetof(cli_options, cache), NULL,
     "DIR  the cache (else SLIPWAY_CACHE_DIR, XDG_CACHE_HOME, HOME/.cache)"},
    {"--private", TEXT, offsetof(cli_options, private_root), NULL, "DIR  where builds run"},
    {"--memo", TEXT, offsetof(cli_options, memo), NULL, "DIR  the memo of file digests"},
    {"--identity", TEXT, offsetof(cli_options, identity), NULL,
     "content|memo|claim  how the toolchain is proved (memo)"},
    {"--verify", TEXT, offsetof(cli_options, verify), NULL, "full|on-map|memo  when an entry is judged (full)"},
    {"--cc", TEXT, offsetof(cli_options, cc), NULL,
     "PATH  the compiler (else SLIPWAY_CC, PATH, the system's directories)"},
    {"--device", TEXT, offsetof(cli_options, device), NULL, "host|cuda:N|hip:N"},
    {"--driver-library", TEXT, offsetof(cli_options, driver_library), NULL, "PATH  the driver's library"},
    {"--read-only", FLAG, offsetof(cli_options, read_only), NULL, "write nothing into the cache"},
    {"--no-cache", FLAG, offsetof(cli_options, no_cache), NULL, "neither look up nor publish"},
    {"--trust-root", FLAG, offsetof(cli_options, trust_root), NULL, "do not ask who may write the cache"},
    {"--json", FLAG, offsetof(cli_options, json), NULL, "one JSON document on standard output"},
    {"--help", FLAG, offsetof(cli_options, help), NULL, "this text"},
    {"--version", FLAG, offsetof(cli_options, version), NULL, "the version"},
    {"--domain", TEXT, offsetof(cli_options, domain), "verify lookup put get digest ls show stats",
     "D  identity domain (slipway.identity)"},
    {"--entry", TEXT, offsetof(cli_options, entry), "run inspect", "NAME  the kernel (the only one; of --sass: all)"},
    {"--grid", TEXT, offsetof(cli_options, grid), "run",
     "X,Y,Z  in the kernel's unit: blocks, clusters, or Triton's programs (1,1,1)"},
    {"--block", TEXT, offsetof(cli_options, block), "run", "X,Y,Z  threads (what the kernel requires, else 1,1,1)"},
    {"--shared", TEXT, offsetof(cli_options, shared), "run", "BYTES  dynamic shared memory (what the kernel requires)"},
    {"--cluster", TEXT, offsetof(cli_options, cluster), "run", "X,Y,Z  blocks (what the kernel requires, else none)"},
    {"--non-portable-cluster", FLAG, offsetof(cli_options, non_portable_cluster), "run", "allow more than 8 blocks"},
    {"--cooperative", FLAG, offsetof(cli_options, cooperative), "run", "all blocks at once, or none"},
    {"--programmatic", FLAG, offsetof(cli_options, programmatic), "run", "programmatic dependent launch"},
    {"--allow-ptx", FLAG, offsetof(cli_options, allow_ptx), "run",
     "let the driver compile PTX of a fatbin (of FILE that is PTX it is)"},
    {"--arg", LIST, offsetof(cli_options, args), "run",
     "TYPE=VALUE or [in:|out:|inout:]TYPE[N]=zero|iota|const:V|rand:SEED|@FILE[>OUT]"},
    {"--expect", TEXT, offsetof(cli_options, expect), "run", "FILE  compare `results` with this document"},
    {"--tolerance", TEXT, offsetof(cli_options, tolerance), "run", "R  relative, for floats of --expect"},
    {"--flag", LIST, offsetof(cli_options, flags), "run why", "F  a flag for the compiler (repeat)"},
    {"--include", LIST, offsetof(cli_options, includes), "run why", "DIR  an include root (repeat)"},
    {"--timeout", TEXT, offsetof(cli_options, timeout), "run warm", "SECONDS  for the compile, for each of warm's"},
    {"--audit", FLAG, offsetof(cli_options, audit), "run warm",
     "build a hit once more, privately, and say what differs"},
    {"--jobs", TEXT, offsetof(cli_options, jobs), "warm", "N  compiles at one time (CONFIG's, else the processors)"},
    {"--keep-going", FLAG, offsetof(cli_options, keep_going), "warm", "build the others when one fails"},
    {"--metrics", TEXT, offsetof(cli_options, metrics), "run",
     "FILE  what the run was, counted and timed: OpenMetrics when it ends in .prom or .txt, else JSON"},
    {"--trace", TEXT, offsetof(cli_options, trace), "run", "FILE  its transitions as a Chrome trace, for Perfetto"},
    {"--openmetrics", FLAG, offsetof(cli_options, openmetrics), "stats", "OpenMetrics text on standard output"},
    {"--state", TEXT, offsetof(cli_options, state), "show", "generated|ready"},
    {"--spec", TEXT, offsetof(cli_options, spec), "show", "DIGEST"},
    {"--target", TEXT, offsetof(cli_options, target), "run inspect why",
     "T  sm_90, gfx942, host: what would not fit there; what FILE is, or would be, compiled for"},
    {"--sass", FLAG, offsetof(cli_options, sass), "inspect", "machine code too, by the vendor's disassembler"},
    {"--probe", FLAG, offsetof(cli_options, probe), "doctor",
     "try the file system's abilities (writes and removes files)"},
};

void cli_help(FILE *to) {
    fputs("usage: slipway VERB [options]\n"
          "  run FILE            compile or take FILE, load it and launch a kernel\n"
          "  ls                  entries of the cache\n"
          "  show KEY            one entry\n"
          "  verify              read and hash every slot; writes nothing\n"
          "  stats               how much the cache holds: by backend and target, by age\n"
          "  lookup REQUEST.json          one lookup; writes nothing\n"
          "  put REQUEST.json DIR         publish the files of DIR\n"
          "  get REQUEST.json DEST        copy a hit to DEST\n"
          "  digest RECORD.json           a typed record to its digest\n"
          "  inspect FILE...     what is in a binary or PTX; with --target or --device, what would not fit\n"
          "  warm CONFIG.json    compile what CONFIG lists, before anybody waits for it\n"
          "  why KEY|FILE        what an entry, or the compile of FILE, differs in from the nearest entries\n"
          "  doctor              drivers, cache, compilers, disassemblers\n"
          "options of every verb, then of some:\n",
          to);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        fprintf(to, "  %-22s %s%s%s%s\n", table[i].name, table[i].help, table[i].verbs ? "  [" : "",
                table[i].verbs ? table[i].verbs : "", table[i].verbs ? "]" : "");
    fputs("--arg: TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f32 f64; files are raw and little-endian; a pointer takes an "
          "array\n"
          "REQUEST.json: {\"components\": {NAME: DIGEST}, \"source\": DIGEST, \"specialization\": DIGEST,\n"
          "   \"state\": \"generated\"|\"ready\", \"build_kind\": \"single_chip\"|\"distributed\", \"required_files\": "
          "[PATH]}\n"
          "RECORD.json: {\"t\": \"none\"} or {\"t\": \"bool\"|\"int\"|\"list\"|\"tuple\"|\"dict\", \"v\": …}, {\"t\": "
          "\"f64\", \"bits\": HEX},\n"
          "   {\"t\": \"str\", \"wtf8_hex\": HEX}, {\"t\": \"bytes\", \"hex\": HEX}\n"
          "FILE of run: a source: C for the host (.c), CUDA C (.cu), HIP, OpenCL C or LLVM IR (.hip, .cl, .ll), PTX\n"
          "   with --target;\n"
          "   PTX, a cubin, a fatbin; an hsaco, an offload bundle; a Triton entry, as X.json or its folder.\n"
          "   Without --device: number 0 of the kind that the source or binary is for; without --target a source is\n"
          "   compiled for that device\n"
          "KEY of show and why: its first digits, at least 4\n",
          to);
    fputs("exit: 0 done, 1 not there or bad, 2 usage, 3 not able now, 4 storage\n", to);
}

slw_code cli_number(const char *text, const char *option, double *out, slw_error *err) {
    char *end = NULL;
    const double value = strtod(text, &end);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || !isfinite(value))
        return cli_usage(err, "BAD_VALUE", "%s: \"%s\" is no number that is 0 or more", option, text);
    *out = value;
    return SLW_OK;
}

slw_code cli_timeout(const cli_options *options, uint64_t *out_ns, slw_error *err) {
    double seconds = 0;
    *out_ns = 0;
    if (options->timeout == NULL) return SLW_OK;
    const slw_code code = cli_number(options->timeout, "--timeout", &seconds, err);
    if (code != SLW_OK) return code;
    if (seconds < 1e-9 || seconds > 1e9)
        return cli_usage(err, "BAD_VALUE", "--timeout: %s seconds cannot be waited for", options->timeout);
    *out_ns = (uint64_t)(seconds * 1e9);
    return SLW_OK;
}

slw_code cli_usage(slw_error *err, const char *reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->code = SLW_E_USAGE;
    err->reason = reason;
    err->hint = "`slipway --help` lists verbs and options";
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return SLW_E_USAGE;
}

static int has_word(const char *words, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return 1;
    return 0;
}

static slw_code set_option(const struct option *option, const char *value, cli_options *out, slw_error *err) {
    void *at = (char *)out + option->at;
    if (option->kind == FLAG) {
        *(int *)at = 1;
        return SLW_OK;
    }
    if (option->kind == TEXT) {
        if (*(const char **)at != NULL) return cli_usage(err, "TWICE", "%s is given twice", option->name);
        *(const char **)at = value;
        return SLW_OK;
    }
    cli_list *list = at;
    if (list->count == CLI_MAX_LIST)
        return cli_usage(err, "TOO_MANY", "more than %d times %s", CLI_MAX_LIST, option->name);
    list->items[list->count++] = value;
    return SLW_OK;
}

/* One word of the command line that begins with "--"; *used counts the words taken. */
static slw_code parse_option(char **argv, cli_options *out, int *used, slw_error *err) {
    const char *equals = strchr(argv[0], '=');
    const size_t n = equals != NULL ? (size_t)(equals - argv[0]) : strlen(argv[0]);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strlen(table[i].name) != n || memcmp(table[i].name, argv[0], n) != 0) continue;
        if (table[i].verbs != NULL && out->verb != NULL && !has_word(table[i].verbs, out->verb))
            return cli_usage(err, "BAD_OPTION", "%s is no option of %s", table[i].name, out->verb);
        if (table[i].kind == FLAG) {
            if (equals != NULL) return cli_usage(err, "BAD_OPTION", "%s takes no value", table[i].name);
            *used = 1;
            return set_option(&table[i], NULL, out, err);
        }
        const char *value = equals != NULL ? equals + 1 : argv[1];
        if (value == NULL || (equals == NULL && strncmp(value, "--", 2) == 0))
            return cli_usage(err, "NO_VALUE", "%s needs a value", table[i].name);
        *used = equals != NULL ? 1 : 2;
        return set_option(&table[i], value, out, err);
    }
    return cli_usage(err, "BAD_OPTION", "unknown option %s", argv[0]);
}

static slw_code one_of(const char *value, const char *const *names, const char *option, int *out, slw_error *err) {
    if (value == NULL) return SLW_OK;
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(value, names[i]) == 0) {
            *out = i;
            return SLW_OK;
        }
    return cli_usage(err, "BAD_VALUE", "%s does not know \"%s\"", option, value);
}

/* host, cuda or hip, then perhaps a number. */
static slw_code check_device(const char *device, slw_error *err) {
    static const char *const kinds[] = {"host", "cuda", "hip"};
    for (size_t i = 0; device != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i]);
        if (strncmp(device, kinds[i], n) != 0) continue;
        if (device[n] == '\0') return SLW_OK;
        const char *number = device + n + 1;
        const size_t digits = strspn(number, "0123456789");
        if (device[n] == ':' && digits > 0 && digits < 10 && number[digits] == '\0') return SLW_OK;
    }
    return device == NULL ? SLW_OK : cli_usage(err, "BAD_VALUE", "--device does not know \"%s\"", device);
}

/* What has few values is looked at here, so that no verb takes a wrong one and leaves it alone. */
static slw_code check_values(cli_options *options, slw_error *err) {
    static const char *const verify_names[] = {"full", "on-map", "memo", NULL};
    static const char *const identity_names[] = {"memo", "content", "claim", NULL};
    slw_code code = one_of(options->verify, verify_names, "--verify", &options->verify_policy, err);
    if (code == SLW_OK) code = one_of(options->identity, identity_names, "--identity", &options->identity_policy, err);
    return code == SLW_OK ? check_device(options->device, err) : code;
}

int cli_parse(int argc, char **argv, cli_options *out) {
    slw_error err = SLW_ERROR_INIT;
    memset(out, 0, sizeof *out);
    for (int i = 1; i < argc && !out->json; i++)
        out->json = strcmp(argv[i], "--json") == 0; /* also for errors before it */
    int only_files = 0;
    for (int i = 1, used = 1; i < argc; i += used, used = 1) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = 1;
        } else if (!only_files && strncmp(argv[i], "--", 2) == 0) {
            if (parse_option(argv + i, out, &used, &err) != SLW_OK) return cli_fail(out, &err);
        } else if (out->verb == NULL) {
            out->verb = argv[i];
        } else if (out->files.count < CLI_MAX_LIST) {
            out->files.items[out->files.count++] = argv[i];
        } else {
            (void)cli_usage(&err, "TOO_MANY", "more than %d arguments", CLI_MAX_LIST);
            return cli_fail(out, &err);
        }
    }
    return check_values(out, &err) == SLW_OK ? 0 : cli_fail(out, &err);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static char *joined(const char *a, const char *b) {
    char *out = NULL;
    if (asprintf(&out, "%s/%s", a, b) < 0) out = NULL;
    return out;
}

static const char *environment(const char *name) {
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The user's cache folder, or NULL and why. XDG_CACHE_HOME must be absolute; HOME must be the user's own. */
static char *cache_home(const char **why) {
    const char *xdg = environment("XDG_CACHE_HOME");
    if (xdg != NULL && xdg[0] == '/') return strdup(xdg);
    const char *home = environment("HOME");
    struct stat st;
    if (home == NULL || home[0] != '/')
        *why = "no home directory is set";
    else if (stat(home, &st) != 0 || !S_ISDIR(st.st_mode))
        *why = "the home directory is not there";
    else if (st.st_uid != geteuid())
        *why = "the home directory belongs to another user";
    else
        return joined(home, ".cache");
    return NULL;
}

/* A fresh 0700 directory under TMPDIR, removed at exit. */
static char *temporary_directory(void) {
    const char *base = environment("TMPDIR");
    char *name = joined(base != NULL ? base : "/tmp", "slipway-XXXXXX");
    if (name != NULL && mkdtemp(name) == NULL) {
        free(name);
        name = NULL;
    }
    return name;
}

static char *chosen(const char *option, const char *home, const char *name) {
    if (option != NULL) return strdup(option);
    return home != NULL ? joined(home, name) : NULL;
}

int cli_find_places(const cli_options *options, cli_places *out, slw_error *err) {
    memset(out, 0, sizeof *out);
    const char *from_environment = environment("SLIPWAY_CACHE_DIR");
    char *home = cache_home(&out->why_no_cache);
    if (options->no_cache) out->why_no_cache = "--no-cache";
    if (!options->no_cache)
        out->cache = chosen(options->cache != NULL ? options->cache : from_environment, home, "slipway");
    out->private_root = chosen(options->private_root, home, "slipway-private");
    out->memo = chosen(options->memo, home, "slipway-memo");
    free(home);
    if (out->private_root == NULL || out->cache == NULL) {
        out->temporary = temporary_directory();
        if (out->temporary == NULL) {
            err->code = SLW_E_STORAGE;
            err->reason = "NO_PRIVATE_ROOT";
            snprintf(err->message, sizeof err->message, "no place for private builds: TMPDIR cannot be written: %s",
                     strerror(errno));
            return slw_code_exit_status(err->code);
        }
        if (out->private_root == NULL) out->private_root = joined(out->temporary, "private");
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void cli_free_places(cli_places *places) {
    if (places->temporary != NULL) (void)nftw(places->temporary, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    free(places->cache);
    free(places->private_root);
    free(places->memo);
    free(places->temporary);
    memset(places, 0, sizeof *places);
}

slw_code cli_open_store(const cli_options *options, const cli_places *places, const char *domain, slw_metrics *metrics,
                        slw_store **out, slw_error *err) {
    slw_store_options store = SLW_STORE_OPTIONS_INIT;
    store.verify = options->verify_policy; /* named in the order of SLW_VERIFY_… */
    char *absent = NULL;
    if (places->cache == NULL) { /* nothing to look up, nowhere to publish */
        absent = joined(places->temporary, "no-cache");
        store.read_only = 1;
    }
    store.root = places->cache != NULL ? places->cache : absent;
    store.private_root = places->private_root;
    store.domain = domain;
    store.metrics = metrics;
    if (options->read_only) store.read_only = 1;
    store.trust_root = options->trust_root;
    store.cancel = cli_interrupt_token();
    const slw_code code = slw_store_open(&store, out, err);
    free(absent);
    return code;
}

slw_memo *cli_open_memo(const cli_options *options, const cli_places *places) {
    slw_memo *memo = NULL;
    if (places->memo == NULL || options->identity_policy == SLW_IDENTITY_CONTENT) return NULL;
    slw_error why = SLW_ERROR_INIT;
    slw_memo_options how = SLW_MEMO_OPTIONS_INIT;
    how.directory = places->memo;
    /* Without a memo everything is right and only slower: an untrusted place is told, not obeyed. */
    if (slw_memo_open(&how, &memo, &why) != SLW_OK) fprintf(stderr, "slipway: no memo: %s\n", why.message);
    return memo;
}

slw_code cli_open_compiler(const cli_options *options, slw_store *store, slw_memo *memo, slw_compiler **out,
                           slw_error *err) {
    return cli_open_compiler_for(options, store, memo, NULL, NULL, out, err);
}

void cli_compiler_options(const cli_options *options, slw_store *store, slw_memo *memo, int is_c,
                          slw_compiler_options *out) {
    *out = (slw_compiler_options)SLW_COMPILER_OPTIONS_INIT;
    out->store = store;
    out->memo = memo;
    out->identity = options->identity_policy; /* named in the order of SLW_IDENTITY_… */
    /* The variable names the C compiler, and no other's. */
    out->compiler = options->cc != NULL ? options->cc : is_c ? environment("SLIPWAY_CC") : NULL;
    out->search_path = secure_getenv("PATH");
}

slw_code cli_open_compiler_for(const cli_options *options, slw_store *store, slw_memo *memo, const char *target,
                               const char *extension, slw_compiler **out, slw_error *err) {
    slw_compiler_options compiler;
    cli_compiler_options(options, store, memo, extension == NULL || strcmp(extension, "c") == 0, &compiler);
    compiler.target = target;
    compiler.extension = extension;
    cli_interrupt_begin(); /* it may have to be asked what it is */
    const slw_code code = slw_compiler_open(&compiler, out, err);
    cli_interrupt_end();
    return code;
}

void cli_device_kind(const cli_options *options, char kind[16]) {
    const char *wanted = options->device != NULL ? options->device : "";
    snprintf(kind, 16, "%.*s", (int)strcspn(wanted, ":"), wanted);
}

slw_code cli_open_device_of(const cli_options *options, const char *kind, int allow_ptx, slw_device **out,
                            slw_error *err) {
    const char *colon = options->device != NULL ? strchr(options->device, ':') : NULL;
    char asked[16];
    slw_device_options device = SLW_DEVICE_OPTIONS_INIT;
    cli_device_kind(options, asked);
    device.kind = asked[0] != '\0' ? asked : kind;
    device.driver_library = options->driver_library;
    device.allow_ptx = allow_ptx != 0;
    /* Nine digits at most, as was checked when the options were read. */
    if (colon != NULL) device.ordinal = (uint32_t)strtoul(colon + 1, NULL, 10);
    return slw_device_open(&device, out, err);
}

slw_code cli_open_device(const cli_options *options, slw_device **out, slw_error *err) {
    return cli_open_device_of(options, "host", 0, out, err);
}

slw_code cli_read_file(const char *path, size_t limit_bytes, char **out, size_t *size, slw_error *err) {
    FILE *file = fopen(path, "rbe");
    size_t used = 0, capacity = 65536;
    char *data = file != NULL ? malloc(capacity + 1) : NULL;
    while (data != NULL && used <= limit_bytes) {
        used += fread(data + used, 1, capacity - used, file);
        if (used < capacity) break;
        char *larger = realloc(data, (capacity *= 2) + 1);
        if (larger == NULL) break;
        data = larger;
    }
    const int broken = file == NULL || data == NULL || ferror(file) || !feof(file);
    const int error_number = errno;
    if (file != NULL) fclose(file);
    if (!broken && used <= limit_bytes) {
        data[used] = '\0';
        *out = data;
        *size = used;
        return SLW_OK;
    }
    free(data);
    err->code = used > limit_bytes ? SLW_E_LIMIT : SLW_E_STORAGE;
    snprintf(err->path, sizeof err->path, "%s", path);
    if (err->code == SLW_E_STORAGE) {
        err->raw_code = error_number;
        err->present |= SLW_ERROR_HAS_RAW_CODE;
    }
    if (err->code == SLW_E_LIMIT)
        snprintf(err->message, sizeof err->message, "the file is larger than %zu bytes", limit_bytes);
    else
        snprintf(err->message, sizeof err->message, "the file cannot be read: %s", strerror(error_number));
    return err->code;
}
