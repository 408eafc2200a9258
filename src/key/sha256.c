/* Choosing an implementation, and the parts of SHA-256 that are not its inner loop: padding, buffering, pairing. */
#include "sha256_code.h"

#include <slipway/key.h>
#include <stdatomic.h>
#include <string.h>

#define BLOCK ((size_t) 64)

static const slwi_sha256_code *const candidates[] = {
#if defined(__x86_64__)
    &slwi_sha256_x86,
#elif defined(__aarch64__)
    &slwi_sha256_arm,
#endif
    &slwi_sha256_sodium,
};

/* NULL until first use. Two threads that come first find the same answer, so it does not matter who stores it. */
static _Atomic(const slwi_sha256_code *) chosen;

static const slwi_sha256_code *choose(const char *name) {
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (name != NULL && strcmp(name, candidates[i]->name) != 0) continue;
        if (candidates[i]->available()) return candidates[i];
    }
    return NULL;
}

static const slwi_sha256_code *code_in_use(void) {
    const slwi_sha256_code *code = atomic_load_explicit(&chosen, memory_order_acquire);
    if (code == NULL) {
        code = choose(NULL); /* the last candidate is always there */
        atomic_store_explicit(&chosen, code, memory_order_release);
    }
    return code;
}

int slwi_sha256_use(const char *name) {
    const slwi_sha256_code *code = choose(name);
    if (code == NULL) return 0;
    atomic_store_explicit(&chosen, code, memory_order_release);
    return 1;
}

const char *slw_sha256_implementation(void) {
    return code_in_use()->name;
}

static void start_state(uint32_t state[8]) {
    static const uint32_t first[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    memcpy(state, first, sizeof first);
}

/* The message's last bytes (less than a block of them) with the padding: one block or two. Returns how many. */
static size_t pad(const uint8_t *rest, uint64_t size_bytes, uint8_t out[128]) {
    size_t left = (size_t) (size_bytes % BLOCK);
    size_t count = left < BLOCK - 8 ? 1 : 2;
    uint64_t bits = size_bytes * 8;
    memset(out, 0, count * BLOCK);
    if (left != 0) memcpy(out, rest, left);
    out[left] = 0x80;
    for (size_t i = 0; i < 8; i++) out[count * BLOCK - 1 - i] = (uint8_t) (bits >> (8 * i));
    return count;
}

static void write_digest(const uint32_t state[8], slw_digest *out) {
    for (size_t i = 0; i < 8; i++) {
        out->bytes[4 * i] = (uint8_t) (state[i] >> 24);
        out->bytes[4 * i + 1] = (uint8_t) (state[i] >> 16);
        out->bytes[4 * i + 2] = (uint8_t) (state[i] >> 8);
        out->bytes[4 * i + 3] = (uint8_t) state[i];
    }
}

void slwi_sha256_init(slwi_sha256_ctx *ctx) {
    ctx->code = code_in_use();
    if (ctx->code->blocks == NULL) {
        ctx->code->init(ctx);
        return;
    }
    start_state(ctx->as.own.state);
    ctx->as.own.size_bytes = 0;
}

void slwi_sha256_update(slwi_sha256_ctx *ctx, const void *data, size_t size) {
    const uint8_t *from = data;
    if (size == 0) return;
    if (ctx->code->blocks == NULL) {
        ctx->code->update(ctx, data, size);
        return;
    }
    size_t held = (size_t) (ctx->as.own.size_bytes % BLOCK);
    ctx->as.own.size_bytes += size;
    if (held != 0) {
        size_t take = size < BLOCK - held ? size : BLOCK - held;
        memcpy(ctx->as.own.block + held, from, take);
        if (held + take < BLOCK) return;
        ctx->code->blocks(ctx->as.own.state, ctx->as.own.block, 1);
        from += take;
        size -= take;
    }
    if (size >= BLOCK) ctx->code->blocks(ctx->as.own.state, from, size / BLOCK);
    if (size % BLOCK != 0) memcpy(ctx->as.own.block, from + size / BLOCK * BLOCK, size % BLOCK);
}

void slwi_sha256_update_two(slwi_sha256_ctx *a, const void *data_a, slwi_sha256_ctx *b, const void *data_b,
                            size_t size) {
    const slwi_sha256_code *code = a->code;
    const size_t whole = size / BLOCK * BLOCK;
    const int aligned = code == b->code && code->blocks_of_two != NULL && a->as.own.size_bytes % BLOCK == 0 &&
                        b->as.own.size_bytes % BLOCK == 0;
    size_t done = 0;
    if (aligned && whole > 0) {
        code->blocks_of_two(a->as.own.state, data_a, b->as.own.state, data_b, whole / BLOCK);
        a->as.own.size_bytes += whole;
        b->as.own.size_bytes += whole;
        done = whole;
    }
    if (done == size) return;
    slwi_sha256_update(a, (const uint8_t *) data_a + done, size - done);
    slwi_sha256_update(b, (const uint8_t *) data_b + done, size - done);
}

void slwi_sha256_final(slwi_sha256_ctx *ctx, slw_digest *out) {
    uint8_t tail[128];
    if (ctx->code->blocks == NULL) {
        ctx->code->final(ctx, out);
        return;
    }
    size_t count = pad(ctx->as.own.block, ctx->as.own.size_bytes, tail);
    ctx->code->blocks(ctx->as.own.state, tail, count);
    write_digest(ctx->as.own.state, out);
}

/* One message on its way through the inner loop: first its whole blocks where they lie, then the padded tail. */
typedef struct lane {
    const slw_bytes *message;
    slw_digest *out;
    const uint8_t *data; /* the next block */
    size_t blocks;       /* how many follow it in one piece, itself included; 0: done */
    size_t tail_blocks;  /* not yet begun */
    uint32_t state[8];
    uint8_t tail[128];
} lane;

static void lane_begin(lane *l, const slw_bytes *message, slw_digest *out) {
    size_t whole = message->size / BLOCK;
    const uint8_t *data = message->data;
    l->message = message;
    l->out = out;
    start_state(l->state);
    l->tail_blocks = pad(whole == 0 ? data : data + whole * BLOCK, message->size, l->tail);
    l->data = data;
    l->blocks = whole;
    if (whole == 0) {
        l->data = l->tail;
        l->blocks = l->tail_blocks;
        l->tail_blocks = 0;
    }
}

/* After `count` blocks were hashed. 1: the message is done and its digest written. */
static int lane_advance(lane *l, size_t count) {
    l->data += count * BLOCK;
    l->blocks -= count;
    if (l->blocks != 0) return 0;
    if (l->tail_blocks == 0) {
        write_digest(l->state, l->out);
        return 1;
    }
    l->data = l->tail;
    l->blocks = l->tail_blocks;
    l->tail_blocks = 0;
    return 0;
}

static void lane_finish(const slwi_sha256_code *code, lane *l) {
    do code->blocks(l->state, l->data, l->blocks);
    while (!lane_advance(l, l->blocks));
}

static void hash_one(const slwi_sha256_code *code, const slw_bytes *message, slw_digest *out) {
    if (code->blocks == NULL) {
        slwi_sha256_ctx ctx;
        ctx.code = code;
        code->init(&ctx);
        if (message->size != 0) code->update(&ctx, message->data, message->size);
        code->final(&ctx, out);
        return;
    }
    lane l;
    lane_begin(&l, message, out);
    lane_finish(code, &l);
}

/* The longest message has a lane of its own from the start: all others go through the second one beside it, and what is
   left to be hashed alone is as short as it can be without sorting. */
static void hash_side_by_side(const slwi_sha256_code *code, const slw_bytes *messages, size_t count, slw_digest *out) {
    lane lanes[2];
    size_t longest = 0, next = 0;
    for (size_t i = 1; i < count; i++) {
        if (messages[i].size > messages[longest].size) longest = i;
    }
    if (next == longest) next++;
    lane_begin(&lanes[0], &messages[longest], &out[longest]);
    lane_begin(&lanes[1], &messages[next], &out[next]);
    next++;
    for (;;) {
        size_t together = lanes[0].blocks < lanes[1].blocks ? lanes[0].blocks : lanes[1].blocks;
        int done[2];
        code->blocks_of_two(lanes[0].state, lanes[0].data, lanes[1].state, lanes[1].data, together);
        done[0] = lane_advance(&lanes[0], together);
        done[1] = lane_advance(&lanes[1], together);
        for (size_t i = 0; i < 2; i++) {
            if (!done[i]) continue;
            if (next == longest) next++;
            if (next >= count) {
                if (!done[1 - i]) lane_finish(code, &lanes[1 - i]);
                return;
            }
            lane_begin(&lanes[i], &messages[next], &out[next]);
            done[i] = 0;
            next++;
        }
    }
}

void slwi_sha256_many(const slw_bytes *messages, size_t count, slw_digest *out) {
    const slwi_sha256_code *code = code_in_use();
    if (count >= 2 && code->blocks_of_two != NULL) {
        hash_side_by_side(code, messages, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++) hash_one(code, &messages[i], &out[i]);
}

void slwi_sha256_once(slw_bytes bytes, slw_digest *out) {
    hash_one(code_in_use(), &bytes, out);
}

void slw_sha256(slw_bytes bytes, slw_digest *out) {
    slwi_sha256_once(bytes, out);
}
