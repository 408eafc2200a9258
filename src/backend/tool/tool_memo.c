#include "tool_memo.h"

#include <slipway/key.h>
#include <string.h>

#include "memo.h"

static void append_line(slwi_buffer *text, const char *line) {
    slwi_buffer_append_text(text, line);
    slwi_buffer_append_char(text, '\n');
}

/* The memo's key: this driver, by path and bytes, asked in this environment about this. */
static slw_code answer_key(const slwi_tool_question *q, const slw_digest *driver_proof, slw_digest *out,
                           slw_error *err) {
    slwi_buffer text;
    char proof[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(driver_proof, proof);
    slwi_buffer_init(&text, q->allocator, SIZE_MAX);
    append_line(&text, q->about);
    append_line(&text, q->driver);
    append_line(&text, proof);
    append_line(&text, q->path);
    for (size_t i = 0; q->fixed != NULL && q->fixed[i] != NULL; i++) append_line(&text, q->fixed[i]);
    slw_code rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) slw_sha256((slw_bytes){text.data, text.size}, out);
    slwi_buffer_free(&text);
    return rc;
}

/* MISS when nothing is remembered or when it no longer holds. */
static slw_code remembered(const slwi_tool_question *q, const slw_digest *key, slwi_tool_answer *out, slw_error *err) {
    slw_text text = SLW_TEXT_INIT;
    slw_digest then;
    slw_digest now;
    slw_code rc = slwi_memo_get_answer(q->memo, key, &text, NULL);
    if (rc != SLW_OK) return rc;
    slwi_tool_answer answer;
    slwi_tool_answer_init(&answer, q->allocator);
    int good = slwi_tool_answer_read((slw_bytes){text.data, text.size}, &answer, &then);
    slw_text_release(&text);
    rc = SLW_E_MISS;
    if (good && slwi_tool_answer_holds(&answer, q->allocator)) {
        rc = slwi_tool_answer_proof(&answer, q->driver, q->allocator, q->memo, &now, err);
        if (rc == SLW_OK && memcmp(&then, &now, sizeof(now)) != 0) rc = SLW_E_MISS;
    }
    if (rc == SLW_OK) {
        slwi_tool_answer_free(out);
        *out = answer;
    } else {
        slwi_tool_answer_free(&answer);
    }
    return rc;
}

static void remember(const slwi_tool_question *q, const slw_digest *key, const slwi_tool_answer *answer) {
    slwi_buffer text;
    slw_digest proof;
    slwi_buffer_init(&text, q->allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    if (slwi_tool_answer_proof(answer, q->driver, q->allocator, q->memo, &proof, NULL) == SLW_OK &&
        slwi_tool_answer_write(answer, &proof, &text)) {
        slwi_memo_put_answer(q->memo, key, (slw_bytes){text.data, text.size});
    }
    slwi_buffer_free(&text);
}

slw_code slwi_tool_answer_find(const slwi_tool_question *q, slw_cancel *cancel, slwi_tool_answer *answer,
                               slw_digest *driver_proof, int *driver_proved, slw_error *err) {
    slw_digest key;
    memset(&key, 0, sizeof(key));
    slw_code rc = slwi_tool_answer_proof(NULL, q->driver, q->allocator, q->memo, driver_proof, err);
    *driver_proved = rc == SLW_OK;
    if (rc != SLW_OK && rc != SLW_E_MISS) return rc;
    const int may_remember = *driver_proved && q->memo != NULL;
    if (may_remember) {
        rc = answer_key(q, driver_proof, &key, err);
        if (rc == SLW_OK) rc = remembered(q, &key, answer, err);
        if (rc != SLW_E_MISS) return rc;
    }
    rc = q->ask(q->context, cancel, answer, err);
    if (rc == SLW_OK && may_remember) remember(q, &key, answer);
    return rc;
}
