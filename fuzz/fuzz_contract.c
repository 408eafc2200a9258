#include "fuzz_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"

static void write_contract(const slw_contract *contract, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_buffer_init(out, NULL, SIZE_MAX);
    slwi_json_begin(&writer, out, 1);
    slwi_contract_write(contract, &writer);
    FUZZ_REQUIRE(!out->failed);
}

static void read_back(slw_bytes text, slw_contract **out) {
    static const slwi_json_limits limits = {67108864u, 64, 16777216u, 0};
    slwi_json_document *document = NULL;
    slw_error err = SLW_ERROR_INIT;
    FUZZ_REQUIRE(slwi_json_parse(NULL, text, &limits, &document, &err) == SLW_OK);
    FUZZ_REQUIRE(slwi_contract_read(NULL, slwi_json_root(document), out, &err) == SLW_OK);
    slwi_json_free(&document);
}

static void check_kernel(const slw_kernel_contract *kernel) {
    FUZZ_REQUIRE(kernel->name != NULL && kernel->name[0] != '\0');
    FUZZ_REQUIRE(kernel->param_count == 0 || kernel->params != NULL);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *param = &kernel->params[i];
        FUZZ_REQUIRE((uint64_t)param->offset_bytes + param->size_bytes <= UINT32_MAX);
    }
}

static void check_kernels(const slw_contract *contract) {
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const slw_kernel_contract *kernel = &contract->kernels[i];
        check_kernel(kernel);
        FUZZ_REQUIRE(i == 0 || strcmp(contract->kernels[i - 1].name, kernel->name) < 0);
        FUZZ_REQUIRE(slw_contract_find(contract, kernel->name) == kernel);
    }
}

void fuzz_check_contract(const slw_contract *contract) {
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer first, second;
    slw_contract *again = NULL;
    check_kernels(contract);
    write_contract(contract, &first);
    read_back((slw_bytes){first.data, first.size}, &again);
    FUZZ_REQUIRE(slwi_contract_compare(contract, again, &err) == SLW_OK);
    FUZZ_REQUIRE(slwi_contract_compare(again, contract, &err) == SLW_OK);
    write_contract(again, &second);
    FUZZ_REQUIRE(second.size == first.size && memcmp(first.data, second.data, first.size) == 0);
    slwi_contract_free(NULL, &again);
    slwi_buffer_free(&first);
    slwi_buffer_free(&second);
}

static int has_place(const slw_error *err) {
    const uint32_t place = SLW_ERROR_HAS_OFFSET | SLW_ERROR_HAS_LINE;
    if ((err->present & place) != 0 || err->subject[0] != '\0') return 1;
    (void)fprintf(stderr, "%s %s: %s\n", slw_code_name(err->code), err->reason, err->message);
    return 0;
}

void fuzz_check_reader_refusal(slw_code code, const slw_error *err, size_t size) {
    fuzz_check_refusal(code, err, size);
    if (code == SLW_E_NO_MEMORY) return;
    FUZZ_REQUIRE(err->reason != NULL && err->reason[0] != '\0');
    if (code == SLW_E_INVALID_BINARY || code == SLW_E_INVALID_PTX || code == SLW_E_INVALID_METADATA)
        FUZZ_REQUIRE(has_place(err));
    if (code == SLW_E_CONTRACT_MISMATCH || code == SLW_E_TARGET_MISMATCH)
        FUZZ_REQUIRE(err->subject[0] != '\0' || err->tried[0] != '\0');
}

/* ---- one input, three readings ---- */

typedef struct answer {
    slw_code code;
    slw_error err;
    slw_contract *contract;
} answer;

static void ask(fuzz_reader read, const slw_allocator *allocator, slw_bytes input, answer *out) {
    static const slw_error fresh = SLW_ERROR_INIT;
    static slw_contract untouched;
    slw_contract *contract = &untouched;
    out->err = fresh;
    out->contract = NULL;
    out->code = read(allocator, input, &contract, &out->err);
    if (out->code == SLW_OK) {
        FUZZ_REQUIRE(contract != &untouched && contract != NULL);
        out->contract = contract;
    } else {
        FUZZ_REQUIRE(contract == &untouched);
        fuzz_check_reader_refusal(out->code, &out->err, input.size);
    }
}

static void require_same_error(const slw_error *a, const slw_error *b) {
    FUZZ_REQUIRE(a->code == b->code && a->present == b->present && a->offset_bytes == b->offset_bytes);
    FUZZ_REQUIRE(a->line == b->line && a->column == b->column && a->required == b->required && a->limit == b->limit);
    FUZZ_REQUIRE(a->reason == b->reason || strcmp(a->reason, b->reason) == 0);
    FUZZ_REQUIRE(strcmp(a->message, b->message) == 0 && strcmp(a->subject, b->subject) == 0);
    FUZZ_REQUIRE(strcmp(a->tried, b->tried) == 0 && strcmp(a->kernel, b->kernel) == 0);
}

/* The same bytes elsewhere, one byte off any alignment, and gone when the contract is looked at. */
static void ask_again(fuzz_reader read, const uint8_t *data, size_t size, const answer *first) {
    fuzz_heap heap;
    answer second;
    slw_error err = SLW_ERROR_INIT;
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) abort();
    if (size != 0) memcpy(copy + 1, data, size);
    fuzz_heap_begin(&heap, 0);
    ask(read, &heap.allocator, (slw_bytes){copy + 1, size}, &second);
    free(copy);
    FUZZ_REQUIRE(second.code == first->code);
    if (second.code == SLW_OK) {
        FUZZ_REQUIRE(slwi_contract_compare(first->contract, second.contract, &err) == SLW_OK);
    } else {
        require_same_error(&first->err, &second.err);
    }
    slwi_contract_free(&heap.allocator, &second.contract);
    fuzz_heap_end(&heap);
}

static void ask_without_memory(fuzz_reader read, const uint8_t *data, size_t size, slw_code expected, uint64_t fault) {
    fuzz_heap heap;
    answer starved;
    fuzz_heap_begin(&heap, fault);
    ask(read, &heap.allocator, (slw_bytes){data, size}, &starved);
    FUZZ_REQUIRE(starved.code == expected || (starved.code == SLW_E_NO_MEMORY && heap.failed != 0));
    slwi_contract_free(&heap.allocator, &starved.contract);
    fuzz_heap_end(&heap);
}

slw_code fuzz_contract(fuzz_reader read, const uint8_t *data, size_t size) {
    fuzz_heap heap;
    answer first;
    fuzz_heap_begin(&heap, 0);
    ask(read, &heap.allocator, (slw_bytes){data, size}, &first);
    FUZZ_REQUIRE(first.code != SLW_E_NO_MEMORY);
    const uint64_t calls = heap.calls;
    fuzz_accepted += first.code == SLW_OK;
    if (first.code == SLW_OK) fuzz_check_contract(first.contract);
    ask_again(read, data, size, &first);
    slwi_contract_free(&heap.allocator, &first.contract);
    fuzz_heap_end(&heap);
    uint64_t fault;
    for (uint64_t n = fuzz_faults(data, size, calls, &fault); n > 0; n--)
        ask_without_memory(read, data, size, first.code, fault++);
    return first.code;
}
