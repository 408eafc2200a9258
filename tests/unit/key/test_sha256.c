/* SHA-256: NIST's vectors, every implementation against libsodium, and many messages against one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"
#include "slt.h"

static const char *const implementations[] = {"x86-sha", "armv8-sha2", "libsodium"};
#define IMPLEMENTATIONS (sizeof implementations / sizeof implementations[0])

static void ck_digest(slw_bytes message, const char *expected) {
    slw_digest digest;
    char text[SLW_DIGEST_TEXT_SIZE];
    slwi_sha256_once(message, &digest);
    slw_digest_format(&digest, text);
    ck_assert_str_eq(text, expected);
}

static unsigned char *noise(size_t size) {
    unsigned char *bytes = malloc(size + 1);
    uint32_t x = 2463534242u;
    for (size_t i = 0; i < size; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        bytes[i] = (unsigned char) x;
    }
    return bytes;
}

START_TEST(nist_vectors) {
    if (!slwi_sha256_use(implementations[_i])) {
        slt_skip("nist_vectors", "this processor has another implementation");
        return;
    }
    ck_assert_str_eq(slw_sha256_implementation(), implementations[_i]);
    ck_digest((slw_bytes){NULL, 0}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    ck_digest((slw_bytes){"abc", 3}, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_digest((slw_bytes){"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56},
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    ck_digest((slw_bytes){"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
                          "pqrsmnopqrstnopqrstu", 112},
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    ck_digest((slw_bytes){million, 1000000}, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}
END_TEST

START_TEST(every_length_and_split_agrees_with_libsodium) {
    unsigned char *bytes = noise(400);
    if (!slwi_sha256_use(implementations[_i])) {
        free(bytes);
        return;
    }
    for (size_t size = 0; size <= 300; size++) {
        slw_digest expected, got;
        ck_assert(slwi_sha256_use("libsodium"));
        slwi_sha256_once((slw_bytes){bytes + size % 7, size}, &expected);
        ck_assert(slwi_sha256_use(implementations[_i]));
        slwi_sha256_once((slw_bytes){bytes + size % 7, size}, &got);
        ck_assert_mem_eq(&got, &expected, sizeof got);
        for (size_t first = 0; first <= size; first += 1 + first / 5) {
            slwi_sha256_ctx ctx;
            slwi_sha256_init(&ctx);
            slwi_sha256_update(&ctx, bytes + size % 7, first);
            slwi_sha256_update(&ctx, NULL, 0);
            slwi_sha256_update(&ctx, bytes + size % 7 + first, (size - first) / 2);
            slwi_sha256_update(&ctx, bytes + size % 7 + first + (size - first) / 2, size - first - (size - first) / 2);
            slwi_sha256_final(&ctx, &got);
            ck_assert_mem_eq(&got, &expected, sizeof got);
        }
    }
    free(bytes);
}
END_TEST

START_TEST(byte_by_byte_and_copied_contexts) {
    unsigned char *bytes = noise(1000);
    if (slwi_sha256_use(implementations[_i])) {
        slw_digest expected, got, first, second;
        slwi_sha256_ctx ctx, copy;
        slwi_sha256_once((slw_bytes){bytes, 1000}, &expected);
        slwi_sha256_init(&ctx);
        for (size_t i = 0; i < 1000; i++) slwi_sha256_update(&ctx, bytes + i, 1);
        copy = ctx;
        slwi_sha256_final(&ctx, &got);
        ck_assert_mem_eq(&got, &expected, sizeof got);
        slwi_sha256_update(&copy, "x", 1);
        slwi_sha256_final(&copy, &first);
        bytes[1000] = 'x';
        slwi_sha256_once((slw_bytes){bytes, 1001}, &second);
        ck_assert_mem_eq(&first, &second, sizeof first);
        ck_assert_mem_ne(&first, &expected, sizeof first);
    }
    free(bytes);
}
END_TEST

/* A context goes on with the implementation it began with. */
START_TEST(contexts_keep_their_implementation) {
    slwi_sha256_ctx ctx;
    slw_digest got, expected;
    slwi_sha256_use(NULL);
    slwi_sha256_init(&ctx);
    slwi_sha256_update(&ctx, "ab", 2);
    ck_assert(slwi_sha256_use("libsodium"));
    slwi_sha256_update(&ctx, "c", 1);
    slwi_sha256_final(&ctx, &got);
    slwi_sha256_once((slw_bytes){"abc", 3}, &expected);
    ck_assert_mem_eq(&got, &expected, sizeof got);
    ck_assert(!slwi_sha256_use("none of ours"));
    ck_assert_str_eq(slw_sha256_implementation(), "libsodium");
}
END_TEST

static void ck_many(const slw_bytes *messages, size_t count) {
    slw_digest *got = malloc((count + 1) * sizeof *got), expected;
    memset(got, 0xa5, (count + 1) * sizeof *got);
    slwi_sha256_many(messages, count, got);
    for (size_t i = 0; i < count; i++) {
        slwi_sha256_once(messages[i], &expected);
        ck_assert_msg(memcmp(&got[i], &expected, sizeof expected) == 0, "message %zu of %zu, %zu bytes", i, count,
                      messages[i].size);
    }
    memset(&expected, 0xa5, sizeof expected);
    ck_assert_mem_eq(&got[count], &expected, sizeof expected); /* nothing behind the last is written */
    free(got);
}

START_TEST(pairs_of_all_lengths) {
    unsigned char *bytes = noise(1000);
    if (slwi_sha256_use(implementations[_i])) {
        for (size_t a = 0; a <= 200; a += 1 + a / 9) {
            for (size_t b = 0; b <= 200; b++) {
                ck_many((slw_bytes[]){{bytes, a}, {bytes + 300, b}}, 2);
            }
        }
    }
    free(bytes);
}
END_TEST

START_TEST(many_messages_of_uneven_lengths) {
    enum { SIZE = 70000, MOST = 40 };
    unsigned char *bytes = noise(SIZE);
    slw_bytes messages[MOST];
    uint32_t x = 88172645u;
    if (slwi_sha256_use(implementations[_i])) {
        for (size_t round = 0; round < 300; round++) {
            size_t count = round % (MOST + 1);
            for (size_t i = 0; i < count; i++) {
                x = x * 1664525u + 1013904223u;
                size_t most = (size_t) 1 << (x >> 16) % 17, from = (x >> 8) % 1000;
                x = x * 1664525u + 1013904223u;
                messages[i] = (slw_bytes){bytes + from, (x >> 8) % most};
                if (messages[i].size == 0) messages[i].data = NULL;
            }
            ck_many(messages, count);
        }
        for (size_t i = 0; i < MOST; i++) messages[i] = (slw_bytes){bytes, 640}; /* the same memory, all end at once */
        ck_many(messages, MOST);
        ck_many(messages, MOST - 1);
    }
    free(bytes);
}
END_TEST

static void *hash_in_a_thread(void *out) {
    for (int i = 0; i < 200; i++) slwi_sha256_once((slw_bytes){"abc", 3}, out);
    return NULL;
}

START_TEST(first_use_by_many_threads) {
    pthread_t threads[4];
    slw_digest digests[4], expected;
    for (size_t i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, hash_in_a_thread, &digests[i]), 0);
    for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    slw_sha256((slw_bytes){"abc", 3}, &expected);
    for (size_t i = 0; i < 4; i++) ck_assert_mem_eq(&digests[i], &expected, sizeof expected);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/sha256");
    TCase *t = tcase_create("sha256");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, nist_vectors, 0, IMPLEMENTATIONS);
    tcase_add_loop_test(t, every_length_and_split_agrees_with_libsodium, 0, IMPLEMENTATIONS);
    tcase_add_loop_test(t, byte_by_byte_and_copied_contexts, 0, IMPLEMENTATIONS);
    tcase_add_test(t, contexts_keep_their_implementation);
    tcase_add_loop_test(t, pairs_of_all_lengths, 0, IMPLEMENTATIONS);
    tcase_add_loop_test(t, many_messages_of_uneven_lengths, 0, IMPLEMENTATIONS);
    tcase_add_test(t, first_use_by_many_threads);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
