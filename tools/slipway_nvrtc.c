/* slipway-nvrtc: NVRTC as a compiler that is started, like any other.
 *
 *     slipway-nvrtc --version
 *     slipway-nvrtc --library PATH --files
 *     slipway-nvrtc --library PATH --name NAME -o OUT.ptx [OPTION of NVRTC]... SOURCE
 *
 * NVRTC is a library that reads variables of the process it is loaded into, opens a second library by its name, and
 * cannot be stopped. In a program of its own it has the environment that it is given, ends when its time is up, and can
 * say which files were really mapped: `--files` compiles a kernel and prints them ("file PATH"), NVRTC's version and
 * the architectures it has ("version 13.0", "arch 90"); "changed PATH" is a file that is no longer the one that was mapped.
 *
 * Exit status: 0; 1 what NVRTC says of the source, on standard output; 2 a wrong command line; 3 no NVRTC. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define OPTIONS_MAX 4096
#define PATH_MAX_   4096

typedef struct nvrtc_program *program;

static struct {
    int (*version)(int *major, int *minor);
    const char *(*error_string)(int result);
    int (*arch_count)(int *count);
    int (*archs)(int *list);
    int (*create)(program *out, const char *text, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(program p, int count, const char *const *options);
    int (*ptx_size)(program p, size_t *size);
    int (*ptx)(program p, char *out);
    int (*log_size)(program p, size_t *size);
    int (*log)(program p, char *out);
} nvrtc;

/* ---- the library ---- */

static int symbol(void *library, const char *name, void *out) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        (void)printf("slipway-nvrtc: the library has no %s\n", name);
        return 0;
    }
    memcpy(out, &address, sizeof(address)); /* an object pointer becomes a function's, as POSIX has it */
    return 1;
}

static int load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)printf("slipway-nvrtc: %s\n", dlerror());
        return 0;
    }
    return symbol(library, "nvrtcVersion", &nvrtc.version) &&
           symbol(library, "nvrtcGetErrorString", &nvrtc.error_string) &&
           symbol(library, "nvrtcGetNumSupportedArchs", &nvrtc.arch_count) &&
           symbol(library, "nvrtcGetSupportedArchs", &nvrtc.archs) &&
           symbol(library, "nvrtcCreateProgram", &nvrtc.create) &&
           symbol(library, "nvrtcCompileProgram", &nvrtc.compile) &&
           symbol(library, "nvrtcGetPTXSize", &nvrtc.ptx_size) && symbol(library, "nvrtcGetPTX", &nvrtc.ptx) &&
           symbol(library, "nvrtcGetProgramLogSize", &nvrtc.log_size) &&
           symbol(library, "nvrtcGetProgramLog", &nvrtc.log);
}

static int said(int result, const char *what) {
    if (result == 0) return 1;
    (void)printf("slipway-nvrtc: error: %s: %s\n", what, nvrtc.error_string(result));
    return 0;
}

/* ---- compiling ---- */

static void print_log(program p) {
    size_t size = 0;
    if (nvrtc.log_size(p, &size) != 0 || size < 2) return;
    char *text = calloc(1, size + 1);
    if (text != NULL && nvrtc.log(p, text) == 0) (void)fputs(text, stdout);
    free(text);
}

/* The PTX with its NUL, allocated; NULL after NVRTC's words were printed. */
static char *compile(const char *text, const char *name, int count, const char *const *options) {
    program p = NULL;
    size_t size = 0;
    if (!said(nvrtc.create(&p, text, name, 0, NULL, NULL), "the program cannot be made")) return NULL;
    const int result = nvrtc.compile(p, count, options);
    print_log(p);
    if (!said(result, name) || !said(nvrtc.ptx_size(p, &size), "there is no PTX")) return NULL;
    char *ptx = calloc(1, size + 1);
    if (ptx == NULL || !said(nvrtc.ptx(p, ptx), "the PTX cannot be had")) {
        free(ptx);
        return NULL;
    }
    return ptx;
}

static char *read_source(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    char *text = size >= 0 ? calloc(1, (size_t)size + 1) : NULL;
    if (text != NULL && (fseek(file, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)size, file) != (size_t)size)) {
        free(text);
        text = NULL;
    }
    if (file != NULL) (void)fclose(file);
    if (text == NULL) (void)printf("slipway-nvrtc: %s cannot be read: %s\n", path, strerror(errno));
    return text;
}

static int write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    const size_t size = strlen(text);
    int good = file != NULL && fwrite(text, 1, size, file) == size;
    if (file != NULL && fclose(file) != 0) good = 0;
    if (!good) (void)printf("slipway-nvrtc: error: %s cannot be written: %s\n", path, strerror(errno));
    return good;
}

static int run(const char *source, const char *name, const char *output, int count, const char *const *options) {
    char *text = read_source(source);
    if (text == NULL) return 2;
    char *ptx = compile(text, name != NULL ? name : source, count, options);
    const int good = ptx != NULL && write_text(output, ptx);
    free(ptx);
    free(text);
    return good ? 0 : 1;
}

/* ---- what was mapped ---- */

/* "ADDRESS PERMISSIONS OFFSET MAJOR:MINOR INODE PATH" */
static void print_mapping(const char *line, const char *own) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long inode = 0;
    char path[PATH_MAX_];
    struct stat now;
    if (sscanf(line, "%*s r-x%*s %*s %x:%x %lu %4095[^\n]", &major, &minor, &inode, path) != 4) return;
    if (path[0] != '/' || strcmp(path, own) == 0) return;
    const int is_same = stat(path, &now) == 0 && now.st_ino == inode;
    (void)printf("%s %s\n", is_same ? "file" : "changed", path);
}

static int print_mappings(void) {
    char line[PATH_MAX_ + 256];
    char own[PATH_MAX_] = "";
    if (realpath("/proc/self/exe", own) == NULL) own[0] = '\0';
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 0;
    while (fgets(line, sizeof(line), maps) != NULL) print_mapping(line, own);
    return fclose(maps) == 0;
}

/* The second library is opened by the first compilation, not before. */
static int print_files(void) {
    static const char text[] = "extern \"C\" __global__ void k(float *p) { *p = sinf(*p); }\n";
    int major = 0;
    int minor = 0;
    int count = 0;
    int list[256];
    char *ptx = compile(text, "probe.cu", 0, NULL);
    if (ptx == NULL) return 1;
    free(ptx);
    if (!said(nvrtc.version(&major, &minor), "it has no version")) return 1;
    (void)printf("version %d.%d\n", major, minor);
    if (nvrtc.arch_count(&count) != 0 || count < 0 || count > 256 || nvrtc.archs(list) != 0) count = 0;
    for (int i = 0; i < count; i++) (void)printf("arch %d\n", list[i]);
    return print_mappings() ? 0 : 3;
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
    static const char *options[OPTIONS_MAX];
    const char *library = NULL;
    const char *name = NULL;
    const char *output = NULL;
    const char *source = NULL;
    int count = 0;
    int files = 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) return puts("slipway-nvrtc 1") < 0;
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--library") == 0 ? &library
                             : strcmp(argv[i], "--name") == 0  ? &name
                             : strcmp(argv[i], "-o") == 0      ? &output
                                                               : NULL;
        if (value != NULL && i + 1 < argc) {
            *value = argv[++i];
        } else if (strcmp(argv[i], "--files") == 0) {
            files = 1;
        } else if (argv[i][0] != '-' && i + 1 == argc) {
            source = argv[i];
        } else if (count < OPTIONS_MAX) {
            options[count++] = argv[i];
        }
    }
    if (library == NULL || library[0] != '/' || (!files && (output == NULL || source == NULL))) {
        (void)puts("usage: slipway-nvrtc --library PATH (--files | --name NAME -o OUT [OPTION]... SOURCE)");
        return 2;
    }
    if (!load(library)) return 3;
    return files ? print_files() : run(source, name, output, count, options);
}
