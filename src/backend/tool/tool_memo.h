/* What a compiler driver answered, remembered: good as long as the driver and every file it named has its digest, and
 * whatever it found empty still is. */
#ifndef SLWI_TOOL_MEMO_H
#define SLWI_TOOL_MEMO_H

#include "tool_answer.h"

typedef struct slwi_tool_question {
    const slw_allocator *allocator;
    slw_memo *memo;           /* NULL: always asked */
    const char *about;        /* "host answer 1": kind and version of the question */
    const char *driver;       /* absolute, with every link followed */
    const char *path;         /* PATH of its children */
    const char *const *fixed; /* what is asked about: the fixed arguments; NULL-terminated */
    slw_code (*ask)(void *context, slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err);
    void *context;
} slwi_tool_question;

/* From the memo, else by asking (and then remembered, which may fail unseen: it costs only time). `answer` is
   initialised by the caller and only filled on success. *driver_proof is the digest of the driver's path and bytes
   where *driver_proved is 1: else it cannot be read, and nothing is remembered. */
slw_code slwi_tool_answer_find(const slwi_tool_question *question, slw_cancel *cancel, slwi_tool_answer *answer,
                               slw_digest *driver_proof, int *driver_proved, slw_error *err);

#endif
