/* inspect for people: a table an image. Columns that would say nothing are left out; long names are cut in the middle,
 * here and nowhere else; what might move a cursor is shown as a question mark. */
#include "inspect.h"

#include <string.h>

#define NAME_COLUMNS 56u
#define CELL         256

enum column { NAME, REGISTERS, SHARED, LOCAL, PARAMS, PARAM_BYTES, THREADS, MIN_BLOCKS, CLUSTER, GRID, COLUMNS };

static const char *const heads[COLUMNS] = {"kernel", "registers", "shared",     "local",   "params",
                                           "bytes",  "threads",   "min blocks", "cluster", "grid"};

static char shown(char c) {
    return (unsigned char)c < 0x20 || (unsigned char)c > 0x7e ? '?' : c;
}

/* ASCII and perhaps one "…"; the columns it takes. */
static size_t show_name(const char *name, char out[CELL]) {
    const size_t size = strlen(name);
    const size_t head = (NAME_COLUMNS - 1) / 2, tail = NAME_COLUMNS - 1 - head;
    size_t at = 0;
    for (size_t i = 0; i < (size <= NAME_COLUMNS ? size : head); i++) out[at++] = shown(name[i]);
    if (size > NAME_COLUMNS) {
        memcpy(out + at, "\xe2\x80\xa6", 3);
        at += 3;
        for (size_t i = size - tail; i < size; i++) out[at++] = shown(name[i]);
    }
    out[at] = '\0';
    return size <= NAME_COLUMNS ? size : NAME_COLUMNS;
}

static void show_triple(const uint32_t triple[3], const char *before, char out[CELL]) {
    snprintf(out, CELL, "%s%u,%u,%u", before, triple[0], triple[1], triple[2]);
}

static int is_set(const uint32_t triple[3]) {
    return triple[0] != 0 || triple[1] != 0 || triple[2] != 0;
}

static void show_registers(const slw_image *image, const slw_kernel_contract *kernel, char out[CELL]) {
    if (!inspect_knows_registers(image, kernel)) return;
    if (image->kind == SLW_IMAGE_HSACO)
        snprintf(out, CELL, "%uv %us %ua", kernel->registers, kernel->scalar_registers, kernel->accumulation_registers);
    else
        snprintf(out, CELL, "%u", kernel->registers);
}

static void show_params(const slw_kernel_contract *kernel, char out[CELL]) {
    uint32_t callers = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) callers += kernel->params[i].role == SLW_ROLE_CALLER;
    if (callers == kernel->param_count)
        snprintf(out, CELL, "%u", callers);
    else
        snprintf(out, CELL, "%u+%u", callers, kernel->param_count - callers);
}

static void show_threads(const slw_kernel_contract *kernel, char out[CELL]) {
    if (is_set(kernel->required_threads))
        show_triple(kernel->required_threads, "=", out);
    else if (is_set(kernel->max_block))
        show_triple(kernel->max_block, "<=", out);
    else if (kernel->max_threads != 0)
        snprintf(out, CELL, "<=%u", kernel->max_threads);
    else
        snprintf(out, CELL, "any");
}

static void show_cluster(const slw_kernel_contract *kernel, char out[CELL]) {
    if (is_set(kernel->cluster))
        show_triple(kernel->cluster, "", out);
    else if (kernel->max_cluster_rank != 0)
        snprintf(out, CELL, "<=%u", kernel->max_cluster_rank);
}

/* The text of a cell, "-" for what is not known or not there; the columns it takes. */
static size_t cell(const slw_image *image, const slw_kernel_contract *kernel, int column, char out[CELL]) {
    snprintf(out, CELL, "-");
    switch (column) {
    case NAME:
        return show_name(kernel->name, out);
    case REGISTERS:
        show_registers(image, kernel, out);
        break;
    case SHARED:
        if (inspect_knows_shared(image)) snprintf(out, CELL, "%u", kernel->static_shared_bytes);
        break;
    case LOCAL:
        if (inspect_knows_local(image)) snprintf(out, CELL, "%u", kernel->local_bytes);
        break;
    case PARAMS:
        show_params(kernel, out);
        break;
    case PARAM_BYTES:
        snprintf(out, CELL, "%u", kernel->param_bytes);
        break;
    case THREADS:
        show_threads(kernel, out);
        break;
    case MIN_BLOCKS:
        if (kernel->min_blocks != 0) snprintf(out, CELL, "%u", kernel->min_blocks);
        break;
    case CLUSTER:
        show_cluster(kernel, out);
        break;
    default:
        snprintf(out, CELL, "%s", inspect_grid_unit(kernel->grid_unit));
        break;
    }
    return strlen(out);
}

/* Names to the left, figures to the right, nothing behind the last. */
static void print_cell(const inspect_run *run, int column, const char *text, int padding) {
    const int behind = column == NAME || (column == GRID && run->device != NULL) ? padding : 0;
    const int before = column == NAME || column == GRID ? 0 : padding;
    printf("%s%*s%s%*s", column == NAME ? "" : "  ", before, "", text, behind, "");
}

static void print_why(const slw_error *why) {
    printf("no: %s", why->message);
    if (why->present & SLW_ERROR_HAS_REQUIRED)
        printf(" (%s: %llu needed, %llu allowed, %s)", why->resource != NULL ? why->resource : "amount",
               (unsigned long long)why->required, (unsigned long long)why->limit, why->unit != NULL ? why->unit : "");
}

static void print_row(const inspect_run *run, const slw_image *image, const slw_kernel_contract *kernel,
                      const size_t widths[COLUMNS]) {
    slw_error why = SLW_ERROR_INIT;
    char text[CELL];
    fputs("    ", stdout);
    for (int c = 0; c < COLUMNS; c++) {
        if (widths[c] == 0) continue;
        const size_t used = cell(image, kernel, c, text);
        const int padding = (int)(widths[c] - used);
        print_cell(run, c, text, padding);
    }
    const verdict fits = inspect_judge_kernel(run, image, kernel, &why);
    if (fits == FITS_YES) fputs("  yes", stdout);
    if (fits == FITS_NO) {
        fputs("  ", stdout);
        print_why(&why);
    }
    fputc('\n', stdout);
}

static void print_kernels(const inspect_run *run, const slw_image *image) {
    const slw_contract *contract = image->contract;
    size_t widths[COLUMNS] = {0};
    char text[CELL];
    for (int c = 0; c < COLUMNS; c++) {
        int says = 0;
        for (uint32_t k = 0; k < contract->kernel_count; k++) {
            const size_t used = cell(image, &contract->kernels[k], c, text);
            if (used > widths[c]) widths[c] = used;
            says |= strcmp(text, "-") != 0;
        }
        if (!says) widths[c] = 0;
        if (says && strlen(heads[c]) > widths[c]) widths[c] = strlen(heads[c]);
    }
    fputs("    ", stdout);
    for (int c = 0; c < COLUMNS; c++) {
        const int padding = (int)widths[c] - (int)strlen(heads[c]);
        if (widths[c] != 0) print_cell(run, c, heads[c], padding);
    }
    printf("%s\n", run->device != NULL ? "  fits" : "");
    for (uint32_t k = 0; k < contract->kernel_count; k++) print_row(run, image, &contract->kernels[k], widths);
}

static void print_place(const slw_error *error) {
    if (error->present & SLW_ERROR_HAS_LINE) printf(", line %u", error->line);
    if (error->present & SLW_ERROR_HAS_COLUMN) printf(", column %u", error->column);
}

static void print_image(const inspect_run *run, const slw_image *image) {
    slw_error why = SLW_ERROR_INIT;
    printf("  %s %s", slw_image_kind_name(image->kind), image->target != NULL ? image->target : "(no target known)");
    if (image->isa_version != NULL) printf(", ISA %s", image->isa_version);
    if (image->compression != NULL) printf(", compressed (%s)", image->compression);
    printf(", %llu bytes at %llu", (unsigned long long)image->size_bytes, (unsigned long long)image->offset_bytes);
    const verdict fits = inspect_judge_image(run, image, &why);
    if (fits == FITS_NO && why.code == SLW_E_TARGET_MISMATCH)
        printf("  not for %s: %s", run->device->target, why.message);
    fputc('\n', stdout);
    if (image->error != NULL) {
        printf("    %s%s%s: %s", slw_code_name(image->error->code), image->error->reason != NULL ? " " : "",
               image->error->reason != NULL ? image->error->reason : "", image->error->message);
        print_place(image->error);
        fputc('\n', stdout);
    } else if (image->contract != NULL && image->contract->kernel_count != 0) {
        if (fits == FITS_NO && why.code == SLW_E_TARGET_MISMATCH) { /* said above, once */
            inspect_run without = *run;
            without.device = NULL;
            print_kernels(&without, image);
        } else {
            print_kernels(run, image);
        }
    }
}

static slw_code print_sass(inspect_run *run, const inspect_file *file, const slw_image *image, slw_error *err) {
    slw_text text = SLW_TEXT_INIT;
    const slw_code code = inspect_sass(run, file, image, &text, err);
    if (code == SLW_E_COMPILE_FAILED || code == SLW_E_LIMIT) {
        fflush(stdout);
        (void)cli_fail(run->options, err);
        run->bad = 1;
        return SLW_OK;
    }
    if (code == SLW_OK && text.data != NULL)
        printf("%s%s", text.data, text.size != 0 && text.data[text.size - 1] != '\n' ? "\n" : "");
    slw_text_release(&text);
    return code;
}

slw_code inspect_print_file(inspect_run *run, const inspect_file *file, slw_error *err) {
    slw_image image = SLW_IMAGE_INIT;
    slw_code code = SLW_OK;
    if (file->error != NULL) {
        fflush(stdout);
        (void)cli_fail(run->options, file->error);
        return SLW_OK;
    }
    const size_t count = slw_inspection_count(file->inspection);
    for (const char *c = file->path; *c != '\0'; c++) fputc((unsigned char)*c >= 0x80 ? *c : shown(*c), stdout);
    printf(": %s, %zu image%s", slw_file_format_name(slw_inspection_format(file->inspection)), count,
           count == 1 ? "" : "s");
    if (file->fits == FITS_YES) printf(", fits %s", run->device->target);
    if (file->fits == FITS_NO) printf(", does not fit %s", run->device->target);
    fputc('\n', stdout);
    for (size_t i = 0; code == SLW_OK && slw_inspection_image(file->inspection, i, &image); i++) {
        print_image(run, &image);
        if (run->options->sass) code = print_sass(run, file, &image, err);
    }
    return code;
}
