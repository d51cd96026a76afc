/* SPDX-License-Identifier: MIT */
/* Digests and a text index. SHA-256 is OpenSSL's.
 * Input: bytes. Output: a digest; a number for a name.
 * Threads: a context or index belongs to one thread while it is written; lookups from any.
 * Bounds: an index holds at most the entries declared at its making. */
#ifndef POWER_BASE_HASH_H
#define POWER_BASE_HASH_H

#include "base/memory.h"
#include "base/span.h"

struct power_digest {
    unsigned char bytes[32];
};

struct power_sha256; /* opaque, OpenSSL's context inside */
power_status power_sha256_create(struct power_sha256 **out, power_error *error) POWER_MUST_USE;
power_status power_sha256_update(struct power_sha256 *sha, const void *bytes,
                                 size_t length) POWER_MUST_USE;
/* Writes the digest; the context can only be destroyed after. */
power_status power_sha256_final(struct power_sha256 *sha, struct power_digest *out) POWER_MUST_USE;
void power_sha256_destroy(struct power_sha256 *sha);
power_status power_sha256_once(const void *bytes, size_t length,
                               struct power_digest *out) POWER_MUST_USE;
/* 64 lower-case hexadecimal digits and a NUL. */
void power_digest_hex(const struct power_digest *digest, char out[65]);

/* SipHash-1-3 under a key that nobody outside can guess: for tables of untrusted names. */
power_status power_hash_key(uint64_t out[2], power_error *error) POWER_MUST_USE;
uint64_t power_hash_text(const uint64_t key[2], struct power_text text);

/* Text -> uint32_t, open addressing, keyed by a 64-bit hash under a random seed of each index so
 * that crafted keys cannot force long probes (see index.c). Keys are borrowed: they must outlive
 * the index. */
struct power_index;
power_status power_index_create(const power_allocator *allocator, size_t max_entries,
                                struct power_index **out, power_error *error) POWER_MUST_USE;
/* True when it was added; false when the key is there already (value kept). */
bool power_index_add(struct power_index *index, struct power_text key, uint32_t value);
bool power_index_find(const struct power_index *index, struct power_text key, uint32_t *out);
void power_index_destroy(struct power_index *index);

#endif
