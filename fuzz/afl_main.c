/* AFL++ in persistent mode: one process runs many inputs, which it gets in shared memory. Run alone it reads one from standard
 * input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUTS_A_PROCESS 20000

__AFL_FUZZ_INIT()

int main(void) {
    __AFL_INIT();
    const unsigned char *shared = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(INPUTS_A_PROCESS)) {
        const size_t size = (size_t)__AFL_FUZZ_TESTCASE_LEN;
        /* A block of exactly the size, so that a sanitizer sees what is read past it. */
        uint8_t *exact = malloc(size == 0 ? 1 : size);
        if (exact == NULL) abort();
        memcpy(exact, shared, size);
        (void)LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    return 0;
}
