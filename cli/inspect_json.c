/* inspect for programs. */
#include "inspect.h"

#include <string.h>

static const char *param_kind(slw_param_kind kind) {
    static const char *const names[] = {NULL, "pointer", "signed", "unsigned", "float", "struct"};
    return (uint32_t)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

static const char *param_role(slw_param_role role) {
    static const char *const names[] = {"caller", "global_scratch", "profile_scratch", "hidden"};
    return (uint32_t)role < sizeof names / sizeof *names ? names[role] : NULL;
}

static void put_known(cli_json *json, const char *key, uint64_t value, int known) {
    if (known)
        put_u64(json, key, value);
    else
        put_null(json, key);
}

/* 0 means that nothing is asked for. */
static void put_wanted(cli_json *json, const char *key, uint64_t value) {
    put_known(json, key, value, value != 0);
}

static void put_triple(cli_json *json, const char *key, const uint32_t triple[3]) {
    if (triple[0] == 0 && triple[1] == 0 && triple[2] == 0) {
        put_null(json, key);
        return;
    }
    put_array(json, key);
    for (int i = 0; i < 3; i++) put_u64(json, NULL, triple[i]);
    put_end(json, ']');
}

static void put_verdict(cli_json *json, verdict fits, const slw_error *why) {
    if (fits == FITS_UNKNOWN)
        put_null(json, "fits");
    else
        put_bool(json, "fits", fits == FITS_YES);
    if (fits == FITS_NO && why->code != SLW_OK)
        put_error(json, "why_not", why);
    else
        put_null(json, "why_not");
}

/* Only texts and descriptors say how a parameter is aligned. */
static int knows_alignment(const slw_image *image) {
    return image->kind == SLW_IMAGE_PTX || image->kind == SLW_IMAGE_HOST;
}

static void put_params(cli_json *json, const slw_image *image, const slw_kernel_contract *kernel) {
    put_array(json, "params");
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *param = &kernel->params[i];
        put_object(json, NULL);
        put_text(json, "name", param->name);
        put_u64(json, "offset_bytes", param->offset_bytes);
        put_u64(json, "size_bytes", param->size_bytes);
        put_known(json, "alignment_bytes", param->alignment_bytes, knows_alignment(image));
        put_text(json, "kind", param_kind(param->kind));
        put_text(json, "role", param_role(param->role));
        put_end(json, '}');
    }
    put_end(json, ']');
}

static void put_needs(cli_json *json, uint32_t needs) {
    put_array(json, "needs");
    if (needs & SLW_NEEDS_PRINTF) put_text(json, NULL, "printf");
    if (needs & SLW_NEEDS_DEVICE_MALLOC) put_text(json, NULL, "device_malloc");
    if (needs & SLW_NEEDS_GLOBALS) put_text(json, NULL, "globals");
    put_end(json, ']');
}

static void put_kernel(inspect_run *run, const slw_image *image, const slw_kernel_contract *kernel) {
    cli_json *json = &run->json;
    slw_error why = SLW_ERROR_INIT;
    const int amdgcn = image->kind == SLW_IMAGE_HSACO;
    put_object(json, NULL);
    put_text(json, "name", kernel->name);
    put_known(json, "registers", kernel->registers, inspect_knows_registers(image, kernel));
    if (amdgcn) put_u64(json, "scalar_registers", kernel->scalar_registers);
    if (amdgcn) put_u64(json, "accumulation_registers", kernel->accumulation_registers);
    put_known(json, "static_shared_bytes", kernel->static_shared_bytes, inspect_knows_shared(image));
    put_wanted(json, "reserved_shared_bytes", kernel->reserved_shared_bytes);
    put_known(json, "local_bytes", kernel->local_bytes, inspect_knows_local(image));
    put_u64(json, "param_bytes", kernel->param_bytes);
    put_params(json, image, kernel);
    put_wanted(json, "max_threads", kernel->max_threads);
    put_triple(json, "required_threads", kernel->required_threads);
    put_triple(json, "max_block", kernel->max_block);
    put_wanted(json, "min_blocks", kernel->min_blocks);
    put_wanted(json, "max_registers", kernel->max_registers);
    put_triple(json, "cluster", kernel->cluster);
    put_bool(json, "cluster_required", kernel->cluster_required != 0);
    put_wanted(json, "max_cluster_rank", kernel->max_cluster_rank);
    put_text(json, "grid_unit", inspect_grid_unit(kernel->grid_unit));
    put_bool(json, "cooperative", kernel->cooperative != 0);
    put_wanted(json, "warp_threads", kernel->warp_threads);
    put_needs(json, kernel->needs);
    const verdict fits = inspect_judge_kernel(run, image, kernel, &why);
    put_verdict(json, fits, &why);
    put_end(json, '}');
}

static slw_code put_sass(inspect_run *run, const inspect_file *file, const slw_image *image, slw_error *err) {
    slw_text text = SLW_TEXT_INIT;
    const slw_code code = inspect_sass(run, file, image, &text, err);
    if (code == SLW_E_COMPILE_FAILED || code == SLW_E_LIMIT) {
        put_null(&run->json, "sass");
        put_error(&run->json, "sass_error", err);
        run->bad = 1;
        return SLW_OK;
    }
    if (code != SLW_OK) return code;
    if (text.data != NULL)
        put_bytes(&run->json, "sass", (slw_bytes){text.data, text.size});
    else
        put_null(&run->json, "sass");
    slw_text_release(&text);
    return SLW_OK;
}

static slw_code put_image(inspect_run *run, const inspect_file *file, const slw_image *image, slw_error *err) {
    cli_json *json = &run->json;
    slw_error why = SLW_ERROR_INIT;
    const verdict fits = inspect_judge_image(run, image, &why);
    slw_code code = SLW_OK;
    put_object(json, NULL);
    put_text(json, "target", image->target);
    put_text(json, "kind", image->kind != SLW_IMAGE_UNKNOWN ? slw_image_kind_name(image->kind) : NULL);
    put_bool(json, "compressed", image->compression != NULL);
    put_text(json, "compression", image->compression);
    put_text(json, "isa_version", image->isa_version);
    put_u64(json, "offset_bytes", image->offset_bytes);
    put_u64(json, "size_bytes", image->size_bytes);
    if (image->error != NULL)
        put_error(json, "error", image->error);
    else
        put_null(json, "error");
    put_array(json, "kernels");
    for (uint32_t i = 0; image->contract != NULL && i < image->contract->kernel_count; i++)
        put_kernel(run, image, &image->contract->kernels[i]);
    put_end(json, ']');
    put_verdict(json, fits, &why);
    if (run->options->sass) code = put_sass(run, file, image, err);
    put_end(json, '}');
    return code;
}

slw_code inspect_put_file(inspect_run *run, const inspect_file *file, slw_error *err) {
    cli_json *json = &run->json;
    slw_image image = SLW_IMAGE_INIT;
    slw_code code = SLW_OK;
    put_object(json, NULL);
    put_text(json, "path", file->path);
    put_text(json, "format",
             file->inspection != NULL ? slw_file_format_name(slw_inspection_format(file->inspection)) : NULL);
    if (file->error != NULL)
        put_error(json, "error", file->error);
    else
        put_null(json, "error");
    if (file->fits == FITS_UNKNOWN)
        put_null(json, "fits");
    else
        put_bool(json, "fits", file->fits == FITS_YES);
    put_array(json, "images");
    for (size_t i = 0; code == SLW_OK && slw_inspection_image(file->inspection, i, &image); i++)
        code = put_image(run, file, &image, err);
    put_end(json, ']');
    put_end(json, '}');
    return code;
}
