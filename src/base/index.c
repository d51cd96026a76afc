/* SPDX-License-Identifier: MIT */
/* A text index: text to number, open addressing over a dense list of entries.
 * Input: borrowed keys. Output: the number of a key.
 * Threads: one writes; after that any number read.
 * Bounds: the entries declared at its making; the table is at most half full. The hash is
 * SipHash-1-3 (Aumasson and Bernstein, 2012) under a key drawn at random for each index, so that
 * whoever crafts the names of a file cannot make them collide. */
#include <assert.h>
#include <openssl/rand.h>

#include "base/checked.h"
#include "base/hash.h"

struct entry {
    struct power_text key;
    uint32_t hash; /* upper half of the key's hash; the lower picks the slot */
    uint32_t value;
};

struct power_index {
    const power_allocator *allocator;
    uint64_t seed[2];
    struct entry *entries;
    uint32_t *slots; /* 0: free, else number of the entry plus one */
    size_t max_entries, n_entries, n_slots;
};

static uint64_t rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t power_hash_text(const uint64_t seed[2], struct power_text key) {
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    const unsigned char *at = (const unsigned char *)key.bytes;
    size_t left = key.length;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word = power_load_u64(at);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)(key.length & 255) << 56;
    for (size_t i = 0; i < left; i++) {
        last |= (uint64_t)at[i] << (8 * i);
    }
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

power_status power_hash_key(uint64_t out[2], power_error *error) {
    if (RAND_bytes((unsigned char *)out, 2 * sizeof *out) == 1) return POWER_OK;
    return power_fail(error, POWER_IO, "no random numbers for an index");
}

power_status power_index_create(const power_allocator *allocator, size_t max_entries,
                                struct power_index **out, power_error *error) {
    if (max_entries >= UINT32_MAX / 2) {
        return power_fail(error, POWER_LIMIT, "an index of %zu names is over the limit of %u",
                          max_entries, UINT32_MAX / 2 - 1);
    }
    struct power_index *index = power_alloc(allocator, 1, sizeof *index);
    if (!index) return power_fail_memory(error, sizeof *index, "an index");
    index->allocator = allocator;
    index->max_entries = max_entries;
    index->n_slots = 2;
    while (index->n_slots < max_entries * 2)
        index->n_slots *= 2;
    index->entries = power_alloc(allocator, max_entries, sizeof *index->entries);
    index->slots = power_alloc(allocator, index->n_slots, sizeof *index->slots);
    if (!index->entries || !index->slots) {
        power_index_destroy(index);
        return power_fail_memory(error, max_entries * sizeof(struct entry), "an index");
    }
    power_status status = power_hash_key(index->seed, error);
    if (status != POWER_OK) {
        power_index_destroy(index);
        return status;
    }
    *out = index;
    return POWER_OK;
}

/* The slot that holds the key, or the free one where it belongs. There is always a free one. */
static size_t find_slot(const struct power_index *index, struct power_text key, uint64_t hash) {
    size_t mask = index->n_slots - 1, slot = (size_t)hash & mask;
    while (index->slots[slot] != 0) {
        const struct entry *entry = &index->entries[index->slots[slot] - 1];
        if (entry->hash == (uint32_t)(hash >> 32) && power_text_equal(entry->key, key)) break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

bool power_index_add(struct power_index *index, struct power_text key, uint32_t value) {
    uint64_t hash = power_hash_text(index->seed, key);
    size_t slot = find_slot(index, key, hash);
    if (index->slots[slot] != 0) return false;
    assert(index->n_entries < index->max_entries);
    if (index->n_entries >= index->max_entries) return false;
    index->entries[index->n_entries++] = (struct entry){key, (uint32_t)(hash >> 32), value};
    index->slots[slot] = (uint32_t)index->n_entries;
    return true;
}

bool power_index_find(const struct power_index *index, struct power_text key, uint32_t *out) {
    size_t slot = find_slot(index, key, power_hash_text(index->seed, key));
    if (index->slots[slot] == 0) return false;
    *out = index->entries[index->slots[slot] - 1].value;
    return true;
}

void power_index_destroy(struct power_index *index) {
    if (!index) return;
    power_release(index->allocator, index->entries, index->max_entries, sizeof *index->entries);
    power_release(index->allocator, index->slots, index->n_slots, sizeof *index->slots);
    power_release(index->allocator, index, 1, sizeof *index);
}
