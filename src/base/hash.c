/* SPDX-License-Identifier: MIT */
/* SHA-256 through OpenSSL. Input: bytes. Output: digests.
 * Threads: a context belongs to one thread at a time.
 * Bounds: none. */
#include "base/hash.h"

#include <openssl/evp.h>

struct power_sha256 {
    EVP_MD_CTX *context;
};

power_status power_sha256_create(struct power_sha256 **out, power_error *error) {
    struct power_sha256 *sha = power_alloc(&power_default_allocator, 1, sizeof *sha);
    if (!sha) return power_fail_memory(error, sizeof *sha, "a digest");
    sha->context = EVP_MD_CTX_new();
    if (!sha->context || EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL) != 1) {
        power_sha256_destroy(sha);
        return power_fail(error, POWER_NO_MEMORY, "no memory for a digest context");
    }
    *out = sha;
    return POWER_OK;
}

power_status power_sha256_update(struct power_sha256 *sha, const void *bytes, size_t length) {
    if (length == 0) return POWER_OK;
    return EVP_DigestUpdate(sha->context, bytes, length) == 1 ? POWER_OK : POWER_NO_MEMORY;
}

power_status power_sha256_final(struct power_sha256 *sha, struct power_digest *out) {
    struct power_digest digest;
    unsigned length = 0;
    if (EVP_DigestFinal_ex(sha->context, digest.bytes, &length) != 1) return POWER_NO_MEMORY;
    *out = digest;
    return POWER_OK;
}

void power_sha256_destroy(struct power_sha256 *sha) {
    if (!sha) return;
    EVP_MD_CTX_free(sha->context);
    power_release(&power_default_allocator, sha, 1, sizeof *sha);
}

power_status power_sha256_once(const void *bytes, size_t length, struct power_digest *out) {
    struct power_sha256 *sha = NULL;
    power_status status = power_sha256_create(&sha, NULL);
    if (status == POWER_OK) status = power_sha256_update(sha, bytes, length);
    if (status == POWER_OK) status = power_sha256_final(sha, out);
    power_sha256_destroy(sha);
    return status;
}

void power_digest_hex(const struct power_digest *digest, char out[65]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[64] = '\0';
}
