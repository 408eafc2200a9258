/* A launch contract in the making. Names in binaries are borrowed, often without a NUL, and in the order of the file; a
 * contract has its own text, ended by NUL, and its kernels in the order of their names. */
#ifndef SLWI_CONTRACT_BUILD_H
#define SLWI_CONTRACT_BUILD_H

#include <slipway/contract.h>

typedef struct slwi_contract_builder {
    const slw_allocator *allocator;
    slw_kernel_contract *kernels;
    slw_param *params;
    char *text;
    uint32_t kernel_count, kernel_room;
    uint32_t param_count, param_room;
    size_t text_size, text_room;
} slwi_contract_builder;

/* Room for so many kernels, parameters of all kernels, and bytes of text (each with its NUL). NO_MEMORY; then there is
   nothing to close. */
slw_code slwi_contract_builder_open(slwi_contract_builder *b, const slw_allocator *allocator, uint32_t kernels,
                                    uint32_t params, size_t text_bytes, slw_error *err);
void slwi_contract_builder_close(slwi_contract_builder *b);

/* A copy that ends with NUL and lives as long as the builder. NULL where it was not counted at open: a mistake. */
const char *slwi_contract_builder_text(slwi_contract_builder *b, slw_bytes text);

/* The next kernel: zeros but for its name, `ctas` 1, and params of that number, zeros but for `alignment_bytes` 1 (no
   binary says it; PTX does). *params is where to fill them in. NULL where it was not counted at open. */
slw_kernel_contract *slwi_contract_builder_kernel(slwi_contract_builder *b, slw_bytes name, uint32_t param_count,
                                                  slw_param **params);

/* Sorts the kernels by name and says the name that stands there twice (NULL: none): the reader knows what to say of
   it. Pointers to kernels are no longer good. NO_MEMORY. */
slw_code slwi_contract_builder_sort(slwi_contract_builder *b, const char **duplicate, slw_error *err);

/* The contract: `head` gives all but the kernels, borrowed. Sort first. Release it with slwi_contract_free. */
slw_code slwi_contract_builder_finish(slwi_contract_builder *b, const slw_contract *head, slw_contract **out,
                                      slw_error *err);

/* LIMIT where a name is longer than SLW_LIMIT_NAME_BYTES. */
slw_code slwi_contract_check_name(slw_bytes name, slw_error *err);
/* 1 for valid UTF-8 with no blank and no control character, not empty: what may go into JSON and messages. */
int slwi_contract_name_is_text(slw_bytes name);

/* The product of three; where it passes 32 bits it passes every device too. */
uint32_t slwi_contract_product(const uint32_t dimensions[3]);

#endif
