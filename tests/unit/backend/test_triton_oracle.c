/* Every launch-relevant value of every entry, against what other tools say of it (tests/fixtures/triton/README.md). */
#include <slipway/limits.h>

#include "ptx/ptx_read.h"
#include "triton_fixture.h"

static const char *label;

#define same(a, b)                                                                                                     \
    ck_assert_msg((uint64_t)(a) == (uint64_t)(b), "%s: %s is %llu, %s is %llu", label, #a, (unsigned long long)(a),    \
                  #b, (unsigned long long)(b))

/* How many scratch pointers end the list, by the README's table of versions, not by our rule. */
static uint32_t scratch_of(const char *cache) {
    if (strcmp(cache, "cache-3.2.0") == 0) return 0;
    return strcmp(cache, "cache-3.4.0") == 0 ? 1 : 2;
}

static void check_launch(const triton_entry *e, const slw_kernel_contract *kernel) {
    const slwi_json *o = e->oracle;
    ck_assert_str_eq(kernel->name, e->entry);
    same(kernel->dynamic_shared_bytes, triton_number(o, "shared"));
    same(kernel->warps, triton_number(o, "num_warps"));
    same(kernel->warp_threads, triton_number(o, "warp_size"));
    same(kernel->ctas, triton_number(o, "num_ctas"));
    same(kernel->grid_unit, SLW_GRID_BLOCKS); /* none of them has clusters */
    same(kernel->cooperative, triton_flag(o, "launch_cooperative_grid"));
    same(kernel->programmatic_launch, triton_flag(o, "launch_pdl"));
    same(kernel->tensor_memory_columns, triton_number(o, "tmem_size"));
    same(kernel->global_scratch_bytes, triton_number(o, "global_scratch_size"));
    same(kernel->global_scratch_alignment_bytes, triton_number(o, "global_scratch_align"));
    same(kernel->profile_scratch_bytes, triton_number(o, "profile_scratch_size"));
    same(kernel->profile_scratch_alignment_bytes, scratch_of(e->cache) == 2);
}

/* Offsets and sizes of the tool's list, in the order of the offsets; hidden ones by their kind; scratch last. */
static void check_params(const triton_entry *e, const slw_kernel_contract *kernel) {
    const slwi_json *list =
        triton_at(e->oracle, e->is_cuda ? "tool.kparams_ordinal_offset_size" : "tool.args_offset_size_kind");
    const size_t first = e->is_cuda ? 1 : 0;
    same(kernel->param_count, slwi_json_length(list));
    const uint32_t scratch = scratch_of(e->cache);
    for (uint32_t p = 0; p < kernel->param_count; p++) {
        const slwi_json *item = slwi_json_item(list, p);
        const slw_param *param = &kernel->params[p];
        uint32_t offset = 0;
        uint32_t size = 0;
        ck_assert(slwi_json_u32(slwi_json_item(item, first), &offset));
        ck_assert(slwi_json_u32(slwi_json_item(item, first + 1), &size));
        same(param->offset_bytes, offset);
        same(param->size_bytes, size);
        const uint32_t from_end = kernel->param_count - p; /* 1: the last; none of these has hidden ones */
        const slw_param_role role = from_end > scratch                ? SLW_ROLE_CALLER
                                    : (from_end == 1 && scratch == 2) ? SLW_ROLE_PROFILE_SCRATCH
                                                                      : SLW_ROLE_GLOBAL_SCRATCH;
        same(param->role, role);
        slw_bytes kind;
        if (!e->is_cuda && slwi_json_string(slwi_json_item(item, 2), &kind)) {
            ck_assert_ptr_null(strstr(kind.data, "hidden"));
            same(param->kind == SLW_PARAM_POINTER, strcmp(kind.data, "global_buffer") == 0);
        }
    }
}

static void check_cuda(const triton_entry *e, const slw_contract *contract, const slw_kernel_contract *kernel) {
    const slwi_json *tool = triton_at(e->oracle, "tool");
    ck_assert_str_eq(contract->backend, "cuda");
    ck_assert_str_eq(contract->target, triton_text(tool, "ptx.target"));
    ck_assert_int_eq(contract->kind, SLW_IMAGE_CUBIN);
    same(contract->reader_revision, SLWI_CUDA_READER_REVISION);
    same(kernel->registers, triton_number(tool, "cuobjdump_res_usage.regs"));
    same(kernel->local_bytes, triton_number(tool, "cuobjdump_res_usage.stack"));
    /* cuobjdump counts the 1,024 reserved bytes, ptxas does not. */
    same(kernel->static_shared_bytes, triton_number(tool, "ptxas_v.smem"));
    same(kernel->static_shared_bytes, triton_number(tool, "cuobjdump_res_usage.static_shared") % 1024);
    same(kernel->reserved_shared_bytes, 1024);
    same(kernel->param_bytes, triton_number(tool, "cbank_param_size"));
    const uint64_t most = triton_number(tool, "maxreg_count");
    same(kernel->max_registers, most == 255 ? 0 : most);
    for (size_t i = 0; i < 3; i++) {
        uint32_t required = 0;
        ck_assert(slwi_json_u32(slwi_json_item(triton_at(tool, "reqntid"), i), &required));
        same(kernel->required_threads[i], required);
        same(kernel->cluster[i], 0);
    }
    same((uint64_t)kernel->warps * kernel->warp_threads, kernel->required_threads[0]);
}

static void check_hip(const triton_entry *e, const slw_contract *contract, const slw_kernel_contract *kernel) {
    const slwi_json *tool = triton_at(e->oracle, "tool.kernel");
    const char *arch = triton_text(e->oracle, "arch");
    ck_assert_str_eq(contract->backend, "hip");
    ck_assert_int_eq(strncmp(contract->target, arch, strlen(arch)), 0);
    ck_assert_int_eq(contract->kind, SLW_IMAGE_HSACO);
    same(contract->reader_revision, SLWI_HIP_READER_REVISION);
    same(kernel->registers, triton_number(tool, "vgpr_count"));
    same(kernel->scalar_registers, triton_number(tool, "sgpr_count"));
    same(kernel->accumulation_registers, triton_number(tool, "agpr_count"));
    same(kernel->local_bytes, triton_number(tool, "private_segment_fixed_size"));
    same(kernel->static_shared_bytes, triton_number(tool, "group_segment_fixed_size"));
    same(kernel->param_bytes, triton_number(tool, "kernarg_segment_size"));
    same(kernel->max_threads, triton_number(tool, "max_flat_workgroup_size"));
    same(kernel->warp_threads, triton_number(tool, "wavefront_size"));
    same(kernel->required_threads[0], 0);
}

START_TEST(every_value_of_every_entry) {
    const size_t count = triton_open();
    size_t cuda = 0;
    ck_assert_uint_eq(count, 35);
    for (size_t i = 0; i < count; i++) {
        triton_entry e = triton_load(i);
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        label = e.label;
        slw_code rc = triton_contract_of(&e, e.metadata, &contract, &err);
        ck_assert_msg(rc == SLW_OK, "%s: %s (%s) %s", label, slw_code_name(rc), err.reason ? err.reason : "",
                      err.message);
        ck_assert_uint_eq(contract->kernel_count, 1);
        const slw_kernel_contract *kernel = slw_contract_find(contract, NULL);
        check_launch(&e, kernel);
        check_params(&e, kernel);
        if (e.is_cuda) {
            check_cuda(&e, contract, kernel);
        } else {
            check_hip(&e, contract, kernel);
        }
        cuda += (size_t)e.is_cuda;
        slw_contract_release(&triton_heap, &contract);
        ck_assert_ptr_null(contract);
        triton_free(&e);
    }
    ck_assert_uint_eq(cuda, 21);
    triton_close();
}
END_TEST

/* The cubin and the PTX it was made of say the same: two readers that share nothing. */
START_TEST(the_cubin_agrees_with_its_ptx) {
    const size_t count = triton_open();
    size_t compared = 0;
    size_t descriptors = 0;
    for (size_t i = 0; i < count; i++) {
        triton_entry e = triton_load(i);
        label = e.label;
        if (e.is_cuda) {
            char path[96];
            slw_bytes text;
            slw_error err = SLW_ERROR_INIT;
            slw_contract *ptx = NULL;
            slw_contract *cubin = NULL;
            snprintf(path, sizeof(path), "ptx/triton/%s-%.6s.ptx", e.cache + strlen("cache-"), e.key);
            text.data = slt_read_file(slt_fixture(path), &text.size);
            slt_ok(slw_contract_read(NULL, text, e.metadata, NULL, NULL, &ptx, &err), &err);
            slt_ok(slw_contract_read(NULL, e.binary, e.metadata, NULL, NULL, &cubin, &err), &err);
            ck_assert_int_eq(ptx->kind, SLW_IMAGE_PTX);
            ck_assert_str_eq(ptx->isa_version, triton_text(e.oracle, "tool.ptx.version"));
            ck_assert_ptr_null(cubin->isa_version);
            ck_assert_str_eq(ptx->target, cubin->target);
            const slw_kernel_contract *a = slw_contract_find(ptx, e.entry);
            const slw_kernel_contract *b = slw_contract_find(cubin, e.entry);
            ck_assert(a != NULL && b != NULL);
            same(a->param_count, b->param_count);
            /* Above 16 bytes of alignment (tensor descriptors) the device counts from where its bank begins. */
            int plain = 1;
            for (uint32_t p = 0; p < a->param_count; p++) plain &= a->params[p].alignment_bytes <= 16;
            descriptors += !plain;
            if (plain) same(a->param_bytes, b->param_bytes);
            for (uint32_t p = 0; p < a->param_count; p++) {
                if (plain) same(a->params[p].offset_bytes, b->params[p].offset_bytes);
                same(a->params[p].size_bytes, b->params[p].size_bytes);
                same(a->params[p].role, b->params[p].role);
            }
            same(a->dynamic_shared_bytes, b->dynamic_shared_bytes);
            same(a->max_threads, b->max_threads);
            same(a->min_blocks, b->min_blocks);
            same(a->max_registers, b->max_registers);
            same(a->grid_unit, b->grid_unit);
            ck_assert_mem_eq(a->required_threads, b->required_threads, sizeof(a->required_threads));
            ck_assert_mem_eq(a->cluster, b->cluster, sizeof(a->cluster));
            slw_contract_release(NULL, &ptx);
            slw_contract_release(NULL, &cubin);
            free((void *)(uintptr_t)text.data);
            compared++;
        }
        triton_free(&e);
    }
    ck_assert_uint_eq(compared, 21);
    ck_assert_uint_eq(descriptors, 1);
    triton_close();
}
END_TEST

/* Folders of the cache that are no entries: killed before the group file was written, or while the binary was. */
START_TEST(what_is_no_entry) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    static const char whole[] = "6MQE4XFORHXCBZXFQN47LMRT7IXEFZYKGK4VEAWN2AWWO3I4SO5A";
    slw_bytes metadata = triton_file("cache-3.9.0", whole, "add_kernel.json");
    slw_bytes cubin = triton_file("cache-3.9.0", whole, "add_kernel.cubin");
    slt_ok(slw_contract_read(NULL, cubin, metadata, NULL, NULL, &contract, &err), &err);
    ck_assert_uint_eq(contract->kernels[0].param_count, 6);
    slw_contract_release(NULL, &contract);

    slw_bytes timings =
        triton_file("cache-3.9.0", "A6SFC4GXF77WZIQ5G6RO5IO4FNRQVQZBDEI2KY326PEWVN7LJORQ", "add_kernel.autotune.json");
    ck_assert_int_eq(slw_contract_read(NULL, cubin, timings, "k.cubin", NULL, &contract, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.reason, "NOT_RECOGNISED");
    ck_assert_str_eq(err.path, "k.cubin");
    ck_assert_ptr_null(contract);
    free((void *)(uintptr_t)timings.data);
    free((void *)(uintptr_t)metadata.data);
    free((void *)(uintptr_t)cubin.data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/triton_oracle");
    TCase *tcase = tcase_create("triton_oracle");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_value_of_every_entry);
    tcase_add_test(tcase, the_cubin_agrees_with_its_ptx);
    tcase_add_test(tcase, what_is_no_entry);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
