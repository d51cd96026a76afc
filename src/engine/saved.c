/* SPDX-License-Identifier: MIT */
/* Saved states: a header that says what the bytes are of, the ids, the pieces, a digest at the end.
 * Input: bytes of a session, or bytes from outside. Output: sealed bytes, or a checked description.
 * Threads: any caller's. Bounds: every length is computed from counts and compared with the bytes
 * given.
 *
 * Layout, little endian: 0 magic "POWERST1" | 8 kind of digest u32 (1 file, 2 outline) | 12 kv type
 * u32 | 16 longrope choice u32 | 20 tokens u32 | 24 pieces u64 bytes | 32 digest of the model [32]
 * | 64 ids u32 [tokens], padded to 8 | pieces | SHA-256 of all before [32]. */
#include <string.h>

#include "base/checked.h"
#include "engine/model.h"

#define HEADER_BYTES 64u
#define DIGEST_BYTES 32u

static const char magic[8] = {'P', 'O', 'W', 'E', 'R', 'S', 'T', '1'};

static void store_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static void store_u64(unsigned char *at, uint64_t value) {
    store_u32(at, (uint32_t)value);
    store_u32(at + 4, (uint32_t)(value >> 32));
}

power_status power_saved_layout(const struct power_engine *engine, uint32_t length,
                                struct power_saved *out, power_error *error) {
    struct power_saved saved = {.length = length, .ids_offset = HEADER_BYTES};
    uint64_t pieces = power_engine_state_bytes(engine, length);
    size_t ids;
    if (pieces > SIZE_MAX / 2 || !power_align_size((size_t)length * 4, 8, &ids) ||
        !power_add_size(HEADER_BYTES, ids, &saved.pieces_offset) ||
        !power_add_size(saved.pieces_offset, (size_t)pieces, &saved.total_bytes) ||
        !power_add_size(saved.total_bytes, DIGEST_BYTES, &saved.total_bytes)) {
        return power_fail(error, POWER_LIMIT, "a state of %u tokens is too large to save", length);
    }
    saved.pieces_bytes = (size_t)pieces;
    *out = saved;
    return POWER_OK;
}

/* The model's identity: its digest, or with verify = never what can be told without reading it. */
static power_status identity(struct power_model *model, uint32_t *out_kind,
                             struct power_digest *out, power_error *error) {
    *out_kind = model->options.verify == POWER_VERIFY_NEVER ? 2 : 1;
    if (*out_kind == 2) return power_model_outline(model, out, error);
    return power_model_digest_get(model, out, error);
}

power_status power_saved_seal(struct power_model *model, const struct power_saved *saved,
                              const uint32_t *ids, unsigned char *bytes, power_error *error) {
    struct power_digest digest;
    uint32_t kind = 0;
    power_status status = identity(model, &kind, &digest, error);
    if (status != POWER_OK) return status;
    memset(bytes, 0, saved->pieces_offset);
    memcpy(bytes, magic, sizeof magic);
    store_u32(bytes + 8, kind);
    store_u32(bytes + 12, (uint32_t)saved->kv_type);
    store_u32(bytes + 16, saved->long_rope);
    store_u32(bytes + 20, saved->length);
    store_u64(bytes + 24, saved->pieces_bytes);
    memcpy(bytes + 32, digest.bytes, DIGEST_BYTES);
    for (uint32_t i = 0; i < saved->length; i++) {
        store_u32(bytes + saved->ids_offset + 4 * (size_t)i, ids[i]);
    }
    size_t end = saved->total_bytes - DIGEST_BYTES;
    status = power_sha256_once(bytes, end, &digest);
    if (status != POWER_OK) return power_fail(error, status, "no memory for a digest");
    memcpy(bytes + end, digest.bytes, DIGEST_BYTES);
    return POWER_OK;
}

static power_status check_seal(const unsigned char *bytes, size_t length, power_error *error) {
    struct power_digest digest;
    if (length < HEADER_BYTES + DIGEST_BYTES) {
        return power_fail_at(error, POWER_CORRUPT, length,
                             "saved state: %zu bytes, a header has %u", length,
                             HEADER_BYTES + DIGEST_BYTES);
    }
    if (memcmp(bytes, magic, sizeof magic) != 0) {
        return power_fail_at(error, POWER_CORRUPT, 0, "saved state: no magic at offset 0");
    }
    size_t end = length - DIGEST_BYTES;
    if (power_sha256_once(bytes, end, &digest) != POWER_OK) {
        return power_fail(error, POWER_NO_MEMORY, "no memory for a digest");
    }
    if (memcmp(digest.bytes, bytes + end, DIGEST_BYTES) == 0) return POWER_OK;
    return power_fail_at(error, POWER_CORRUPT, end, "saved state: its digest at offset %zu differs",
                         end);
}

static power_status check_identity(struct power_model *model, power_kv_type kv_type, bool long_rope,
                                   const unsigned char *bytes, power_error *error) {
    struct power_digest digest;
    uint32_t kind = 0;
    power_status status = identity(model, &kind, &digest, error);
    if (status != POWER_OK) return status;
    if (power_load_u32(bytes + 8) != kind || memcmp(bytes + 32, digest.bytes, DIGEST_BYTES) != 0) {
        return power_fail(error, POWER_MISMATCH, "saved state: of another model");
    }
    if (power_load_u32(bytes + 12) != (uint32_t)kv_type) {
        return power_fail(error, POWER_MISMATCH, "saved state: KV type %u, the session has %u",
                          power_load_u32(bytes + 12), (unsigned)kv_type);
    }
    if (power_load_u32(bytes + 16) != long_rope) {
        return power_fail(error, POWER_MISMATCH,
                          "saved state: longrope choice %u, the session has %u",
                          power_load_u32(bytes + 16), (unsigned)long_rope);
    }
    return POWER_OK;
}

power_status power_saved_open(struct power_model *model, const struct power_engine *engine,
                              power_kv_type kv_type, bool long_rope, const unsigned char *bytes,
                              size_t length, struct power_saved *out, power_error *error) {
    power_status status = check_seal(bytes, length, error);
    if (status == POWER_OK) status = check_identity(model, kv_type, long_rope, bytes, error);
    struct power_saved saved;
    if (status == POWER_OK) {
        status = power_saved_layout(engine, power_load_u32(bytes + 20), &saved, error);
    }
    if (status != POWER_OK) return status;
    if (saved.total_bytes != length || power_load_u64(bytes + 24) != saved.pieces_bytes) {
        return power_fail_at(error, POWER_CORRUPT, 24, "saved state: %zu bytes, %u tokens need %zu",
                             length, saved.length, saved.total_bytes);
    }
    for (uint32_t i = 0; i < saved.length; i++) {
        size_t at = saved.ids_offset + 4 * (size_t)i;
        if (power_load_u32(bytes + at) < engine->n_vocab) continue;
        return power_fail_at(error, POWER_CORRUPT, at, "saved state: id %u at offset %zu",
                             power_load_u32(bytes + at), at);
    }
    saved.kv_type = kv_type;
    saved.long_rope = long_rope;
    *out = saved;
    return POWER_OK;
}

void power_saved_ids(const struct power_saved *saved, const unsigned char *bytes, uint32_t *out) {
    for (uint32_t i = 0; i < saved->length; i++) {
        out[i] = power_load_u32(bytes + saved->ids_offset + 4 * (size_t)i);
    }
}
