/* SPDX-License-Identifier: MIT */
/* base: errors, quoting, memory, arenas, buffers, digests, the index, the type table.
 * Input: none. Output: pass or fail. Threads: one. Bounds: 100,000 names in an index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/memory.h"

/* ---- an allocator that counts, and fails on request ---- */

struct counter {
    size_t live_bytes, live_blocks, n_allocs,
        fail_at; /* fail_at: number of the first refused, 0 never */
};

static void *count_alloc(void *context, size_t bytes, size_t alignment) {
    struct counter *counter = context;
    counter->n_allocs++;
    if (counter->fail_at && counter->n_allocs >= counter->fail_at) return NULL;
    void *memory = power_default_allocator.alloc(NULL, bytes, alignment);
    if (memory) {
        memset(memory, 0xa5, bytes);
        counter->live_bytes += bytes;
        counter->live_blocks++;
    }
    return memory;
}

static void count_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct counter *counter = context;
    counter->live_bytes -= bytes;
    counter->live_blocks--;
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

static power_allocator counting(struct counter *counter) {
    return (power_allocator){counter, count_alloc, count_release};
}

/* ---- statuses and errors ---- */

static void test_status_names(void **state) {
    (void)state;
    assert_string_equal(power_status_text(POWER_OK), "ok");
    assert_string_equal(power_status_text(POWER_MISMATCH), "digest mismatch");
    assert_string_equal(power_status_name(POWER_CORRUPT), "POWER_CORRUPT");
    assert_string_equal(power_status_text((power_status)99), "unknown status");
    assert_string_equal(power_status_name((power_status)99), "POWER_UNKNOWN");
    assert_int_equal(POWER_CHANGED, 13);
    assert_string_equal(power_version(), "0.1.0");
}

static void test_error_text(void **state) {
    (void)state;
    power_error error = {0};
    assert_int_equal(power_fail(NULL, POWER_LIMIT, "%d", 1), POWER_LIMIT);
    assert_int_equal(power_fail(&error, POWER_LIMIT, "%d over %d", 2, 1), POWER_LIMIT);
    assert_int_equal(error.status, POWER_LIMIT);
    assert_true(error.offset == POWER_NO_OFFSET);
    assert_string_equal(error.message, "2 over 1");
    power_fail_at(&error, POWER_CORRUPT, 77, "x");
    assert_int_equal(error.offset, 77);
    power_fail_errno(&error, POWER_IO, 2, "cannot open \"%s\"", "a");
    assert_int_equal(error.sys_errno, 2);
    assert_string_equal(error.message, "cannot open \"a\": No such file or directory");
    power_fail(&error, POWER_INVALID, "a\nb\x01%s", "\xff");
    assert_string_equal(error.message, "a?b??");
    assert_int_equal(error.sys_errno, 0);
    power_fail_memory(&error, 12, "tensors");
    assert_string_equal(error.message, "no memory for 12 bytes of tensors");
}

/* A cut never leaves half a character. */
static void test_error_cut(void **state) {
    (void)state;
    char text[1200];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4);
        }
        power_error error;
        power_fail(&error, POWER_INVALID, "%s", text);
        size_t length = strlen(error.message);
        assert_true(length <= 255 && length > 251);
        assert_int_equal((length - shift) % 3, 0);
        assert_memory_equal(error.message, text, length);
    }
}

static void test_quote(void **state) {
    (void)state;
    assert_string_equal(power_quote("blk.0", 5).text, "blk.0");
    assert_string_equal(power_quote("caf\xc3\xa9", 5).text, "caf\xc3\xa9");
    assert_string_equal(power_quote("a\0b\tc\x7f", 6).text, "a?b?c?");
    /* Overlong, surrogate, past U+10FFFF, a C1 control, cut at the end. */
    assert_string_equal(power_quote("\xc0\xaf", 2).text, "??");
    assert_string_equal(power_quote("\xed\xa0\x80", 3).text, "???");
    assert_string_equal(power_quote("\xf4\x90\x80\x80", 4).text, "????");
    assert_string_equal(power_quote("\xc2\x85", 2).text, "??");
    assert_string_equal(power_quote("a\xe2\x82", 3).text, "a??");
    assert_string_equal(power_quote(NULL, 0).text, "");
    char text[200];
    memset(text, 'n', sizeof text);
    struct power_quoted quoted = power_quote(text, sizeof text);
    assert_int_equal(strlen(quoted.text), 60);
    assert_string_equal(quoted.text + 57, "...");
    assert_int_equal(strlen(power_quote(text, 60).text), 60);
    assert_string_equal(power_quote(text, 60).text + 57, "nnn");
}

/* ---- sizes ---- */

static void test_checked(void **state) {
    (void)state;
    size_t out = 7;
    assert_false(power_add_size(SIZE_MAX, 1, &out));
    assert_false(power_mul_size(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(power_align_size(SIZE_MAX - 3, 64, &out));
    assert_int_equal(out, 7);
    assert_true(power_align_size(65, 64, &out));
    assert_int_equal(out, 128);
    assert_true(power_mul_size(3, 5, &out));
    assert_int_equal(out, 15);
}

/* ---- memory ---- */

static void test_alloc(void **state) {
    (void)state;
    struct counter counter = {0};
    power_allocator allocator = counting(&counter);
    unsigned char *memory = power_alloc(&allocator, 100, 3);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(memory[i], 0);
    }
    assert_int_equal(counter.live_bytes, 300);
    power_release(&allocator, memory, 100, 3);
    power_release(&allocator, NULL, 100, 3);
    assert_int_equal(counter.live_bytes, 0);
    assert_null(power_alloc(&allocator, SIZE_MAX, 2));
    assert_int_equal(counter.n_allocs, 1);
    void *empty = power_alloc(&allocator, 0, 8);
    assert_non_null(empty);
    power_release(&allocator, empty, 0, 8);
    assert_int_equal(counter.live_blocks, 0);
}

static void test_arena_bounds(void **state) {
    (void)state;
    struct counter counter = {0};
    power_allocator allocator = counting(&counter);
    struct power_arena arena = {0};
    power_arena_finish(&arena);
    power_arena_init(&arena, &allocator, 1008); /* 63 x 16 */
    unsigned char *first = power_arena_alloc(&arena, 10, 1);
    unsigned char *second = power_arena_alloc(&arena, 1, 16);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal((uintptr_t)first % 16, 0);
    assert_int_equal((uintptr_t)second % 16, 0);
    assert_int_equal(arena.used_bytes, 32);
    assert_null(power_arena_alloc(&arena, 977, 1));
    assert_int_equal(arena.used_bytes, 32);
    assert_non_null(power_arena_alloc(&arena, 976, 1));
    assert_null(power_arena_alloc(&arena, 1, 1));
    assert_null(power_arena_alloc(&arena, SIZE_MAX, 2));
    assert_null(power_arena_alloc(&arena, SIZE_MAX - 4, 1));
    power_arena_finish(&arena);
    assert_int_equal(counter.live_blocks, 0);
    assert_int_equal(arena.used_bytes, 0);
    assert_string_equal(power_arena_text(&arena, "again", 3), "aga");
    power_arena_finish(&arena);
    assert_int_equal(counter.live_blocks, 0);
}

/* Every block keeps its content while others come, and starts as zeros. */
static void test_arena_content(void **state) {
    (void)state;
    struct counter counter = {0};
    power_allocator allocator = counting(&counter);
    struct power_arena arena;
    power_arena_init(&arena, &allocator, (size_t)64 << 20);
    enum { BLOCKS = 3000 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        sizes[i] = i % 500 == 499 ? 3u << 20 : i * 7 % 1999 + 1;
        blocks[i] = power_arena_alloc(&arena, sizes[i], 1);
        assert_non_null(blocks[i]);
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(blocks[i][j], 0);
        }
        memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(blocks[i][0], i % 251 + 1);
        assert_int_equal(blocks[i][sizes[i] - 1], i % 251 + 1);
    }
    /* Six large blocks have chunks of their own, the small ones share few. */
    assert_in_range(counter.n_allocs, 8, 24);
    counter.fail_at = counter.n_allocs + 1;
    size_t used = arena.used_bytes;
    assert_null(power_arena_alloc(&arena, 4 << 20, 1));
    assert_int_equal(arena.used_bytes, used);
    power_arena_finish(&arena);
    assert_int_equal(counter.live_blocks, 0);
}

static void test_buffer(void **state) {
    (void)state;
    struct counter counter = {0};
    power_allocator allocator = counting(&counter);
    struct power_buffer buffer;
    power_buffer_init(&buffer, &allocator, 100);
    assert_true(power_buffer_append(&buffer, "", 0));
    assert_string_equal(buffer.bytes, "");
    for (int i = 0; i < 10; i++) {
        assert_true(power_buffer_append(&buffer, "0123456789", 10));
        assert_int_equal(buffer.bytes[buffer.length], 0);
    }
    assert_false(power_buffer_append(&buffer, "x", 1));
    assert_false(power_buffer_reserve(&buffer, SIZE_MAX));
    assert_int_equal(buffer.length, 100);
    assert_memory_equal(buffer.bytes + 90, "0123456789", 11);
    assert_in_range(buffer.capacity, 101, 101);
    power_buffer_clear(&buffer);
    assert_int_equal(buffer.length, 0);
    assert_true(power_buffer_append(&buffer, "ab", 2));
    buffer.max_bytes = 1000;
    counter.fail_at = counter.n_allocs + 1;
    assert_false(power_buffer_reserve(&buffer, 500));
    assert_string_equal(buffer.bytes, "ab");
    power_buffer_finish(&buffer);
    assert_int_equal(counter.live_blocks, 0);
}

/* ---- digests and the index ---- */

static void test_digest(void **state) {
    (void)state;
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct power_digest digest;
    char hex[65];
    assert_int_equal(power_sha256_once("abc", 3, &digest), POWER_OK);
    power_digest_hex(&digest, hex);
    assert_string_equal(hex, abc);
    struct power_sha256 *sha = NULL;
    assert_int_equal(power_sha256_create(&sha, NULL), POWER_OK);
    assert_int_equal(power_sha256_update(sha, "a", 1), POWER_OK);
    assert_int_equal(power_sha256_update(sha, NULL, 0), POWER_OK);
    assert_int_equal(power_sha256_update(sha, "bc", 2), POWER_OK);
    assert_int_equal(power_sha256_final(sha, &digest), POWER_OK);
    power_sha256_destroy(sha);
    power_sha256_destroy(NULL);
    power_digest_hex(&digest, hex);
    assert_string_equal(hex, abc);
}

static void test_index(void **state) {
    (void)state;
    enum { NAMES = 100000 };
    struct power_index *index = NULL;
    char(*names)[16] = calloc(NAMES, sizeof *names);
    assert_non_null(names);
    assert_int_equal(power_index_create(&power_default_allocator, NAMES, &index, NULL), POWER_OK);
    for (uint32_t i = 0; i < NAMES; i++) {
        int length = snprintf(names[i], sizeof names[i], "name.%u", i);
        assert_true(power_index_add(index, (struct power_text){names[i], (size_t)length}, i));
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t value = UINT32_MAX;
        assert_true(power_index_find(index, power_text_of(names[i]), &value));
        assert_int_equal(value, i);
    }
    uint32_t value = 5;
    assert_false(power_index_add(index, POWER_TEXT("name.77"), 1));
    assert_true(power_index_find(index, POWER_TEXT("name.77"), &value));
    assert_int_equal(value, 77);
    assert_false(power_index_find(index, POWER_TEXT("name.77\0"), &value));
    assert_false(power_index_find(index, POWER_TEXT(""), &value));
    assert_int_equal(value, 77);
    power_index_destroy(index);
    power_index_destroy(NULL);
    free(names);
}

static void test_index_edges(void **state) {
    (void)state;
    struct counter counter = {0};
    power_allocator allocator = counting(&counter);
    struct power_index *index = NULL;
    power_error error = {0};
    uint32_t value = 9;
    assert_int_equal(power_index_create(&allocator, SIZE_MAX, &index, &error), POWER_LIMIT);
    assert_int_equal(power_index_create(&allocator, 0, &index, NULL), POWER_OK);
    assert_false(power_index_find(index, POWER_TEXT("x"), &value));
    power_index_destroy(index);
    assert_int_equal(power_index_create(&allocator, 1, &index, NULL), POWER_OK);
    assert_true(power_index_add(index, POWER_TEXT(""), 3));
    assert_true(power_index_find(index, POWER_TEXT(""), &value));
    assert_int_equal(value, 3);
    assert_false(power_index_find(index, POWER_TEXT("x"), &value));
    power_index_destroy(index);
    assert_int_equal(counter.live_blocks, 0);
    for (size_t n = 1; n <= 3; n++) {
        counter = (struct counter){.fail_at = n};
        index = NULL;
        assert_int_equal(power_index_create(&allocator, 10, &index, &error), POWER_NO_MEMORY);
        assert_null(index);
        assert_int_equal(counter.live_blocks, 0);
    }
}

static void test_dtypes(void **state) {
    (void)state;
    assert_string_equal(power_dtype_info(12).name, "Q4_K");
    assert_int_equal(power_dtype_info(POWER_DTYPE_Q4_K).block_elements, 256);
    assert_int_equal(power_dtype_info(POWER_DTYPE_Q4_K).block_bytes, 144);
    static const uint32_t removed[] = {4, 5, 31, 32, 33, 36, 37, 38};
    size_t n_removed = 0;
    for (uint32_t id = 0; id < 70; id++) {
        bool gone = power_dtype_removed_name(id) != NULL;
        if (gone) assert_int_equal(id, removed[n_removed++]);
        if (gone) assert_null(power_dtype_info(id).name);
    }
    assert_int_equal(n_removed, 8);
    assert_string_equal(power_dtype_removed_name(31), "Q4_0_4_4");
    assert_null(power_dtype_info(43).name);
    assert_null(power_dtype_info(UINT32_MAX).name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names), cmocka_unit_test(test_error_text),
        cmocka_unit_test(test_error_cut),    cmocka_unit_test(test_quote),
        cmocka_unit_test(test_checked),      cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_arena_bounds), cmocka_unit_test(test_arena_content),
        cmocka_unit_test(test_buffer),       cmocka_unit_test(test_digest),
        cmocka_unit_test(test_index),        cmocka_unit_test(test_index_edges),
        cmocka_unit_test(test_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
