/* SPDX-License-Identifier: MIT */
/* The digest of a model's files: computed once per file identity, remembered, off the hot path.
 * Input: an open source. Output: SHA-256, or a mismatch that fails every later call.
 * Threads: one of its own in the background; waiting from any. Bounds: the cache file keeps
 * CACHE_LINES lines; a line is an identity and a digest, both in hexadecimal. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/model.h"

#define CACHE_LINES 256u
#define LINE_BYTES 130u /* 64 digits, a space, 64 digits, a newline */
#define PATH_BYTES 4096u

/* ---- the cache ---- */

static power_status add_u64(struct power_sha256 *sha, uint64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    return power_sha256_update(sha, bytes, sizeof bytes);
}

static power_status identity_of(const struct power_source *source, char out[65]) {
    struct power_sha256 *sha = NULL;
    struct power_digest digest;
    power_status status = power_sha256_create(&sha, NULL);
    for (uint32_t i = 0; status == POWER_OK && i < source->n_files; i++) {
        const struct power_file_identity *id = &source->files[i].identity;
        const uint64_t words[] = {id->device,
                                  id->inode,
                                  id->size_bytes,
                                  (uint64_t)id->mtime_s,
                                  (uint64_t)id->mtime_ns,
                                  (uint64_t)id->ctime_s,
                                  (uint64_t)id->ctime_ns};
        for (size_t w = 0; status == POWER_OK && w < sizeof words / sizeof words[0]; w++) {
            status = add_u64(sha, words[w]);
        }
    }
    if (status == POWER_OK) status = power_sha256_final(sha, &digest);
    power_sha256_destroy(sha);
    if (status == POWER_OK) power_digest_hex(&digest, out);
    return status;
}

/* Whole lines only; anything else in the file ends the reading. */
static size_t cache_read(const struct power_model *model, const char *path,
                         struct power_arena *arena, const char **out) {
    struct power_text text = {0};
    power_arena_init(arena, model->host.allocator, (size_t)1 << 20);
    if (power_file_load(arena, path, (size_t)LINE_BYTES * 2 * CACHE_LINES, &text, NULL) !=
        POWER_OK) {
        return 0;
    }
    size_t n = 0;
    while ((n + 1) * LINE_BYTES <= text.length) {
        const char *line = text.bytes + n * LINE_BYTES;
        if (line[64] != ' ' || line[LINE_BYTES - 1] != '\n') break;
        n++;
    }
    *out = text.bytes;
    return n;
}

static bool parse_hex(const char *hex, struct power_digest *out) {
    for (size_t i = 0; i < 64; i++) {
        const char *digits = "0123456789abcdef";
        const char *at = hex[i] ? strchr(digits, hex[i]) : NULL;
        if (!at) return false;
        unsigned value = (unsigned)(at - digits);
        unsigned char *byte = &out->bytes[i / 2];
        *byte = (unsigned char)(i % 2 ? *byte | value : value << 4);
    }
    return true;
}

static bool cache_find(const struct power_model *model, const char *path, const char identity[65],
                       struct power_digest *out) {
    struct power_arena arena;
    const char *lines = NULL;
    bool found = false;
    size_t n = cache_read(model, path, &arena, &lines);
    for (size_t i = 0; i < n && !found; i++) {
        const char *line = lines + i * LINE_BYTES;
        found = memcmp(line, identity, 64) == 0 && parse_hex(line + 65, out);
    }
    power_arena_finish(&arena);
    return found;
}

/* The newest line comes last; the oldest go when the file is full. Two processes may write at once:
 * one line is lost, and computed again some time. */
static void cache_add(const struct power_model *model, const char *path, const char identity[65],
                      const struct power_digest *digest) {
    struct power_arena arena;
    const char *lines = NULL;
    char hex[65], directory[PATH_BYTES];
    size_t n = cache_read(model, path, &arena, &lines);
    size_t first = n >= CACHE_LINES ? n - CACHE_LINES + 1 : 0;
    size_t kept = (n - first) * LINE_BYTES;
    char *text = power_arena_alloc(&arena, kept + LINE_BYTES + 1, 1);
    power_digest_hex(digest, hex);
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (text && slash) {
        *slash = '\0';
        if (kept) memcpy(text, lines + first * LINE_BYTES, kept);
        snprintf(text + kept, LINE_BYTES + 1, "%s %s\n", identity, hex);
        power_status status = power_directory_make(directory, NULL);
        if (status == POWER_OK) status = power_file_replace(path, text, kept + LINE_BYTES, NULL);
        if (status != POWER_OK) {
            power_model_log(model, POWER_LOG_INFO, "digest", "it could not be remembered");
        }
    }
    power_arena_finish(&arena);
}

/* ---- computing ---- */

static power_status compute(struct power_model *model, struct power_digest *out,
                            power_error *error) {
    char path[PATH_BYTES], identity[65];
    bool caches = model->options.verify == POWER_VERIFY_ONCE &&
                  power_cache_path(path, sizeof path, "digests", NULL) == POWER_OK &&
                  identity_of(model->source, identity) == POWER_OK;
    if (caches && cache_find(model, path, identity, out)) return POWER_OK;
    power_status status = power_source_digest(model->source, out, &model->digest.cancel, error);
    if (status == POWER_OK) status = power_source_check(model->source, error);
    if (status == POWER_OK && caches) cache_add(model, path, identity, out);
    return status;
}

static power_status publish(struct power_model *model, power_status status,
                            const struct power_digest *digest, const power_error *error) {
    struct power_model_digest *d = &model->digest;
    char hex[65];
    bool differs = false;
    if (status == POWER_OK && d->expects) {
        power_digest_hex(digest, hex);
        differs = strcasecmp(hex, d->expected) != 0;
    }
    power_mutex_lock(d->mutex);
    d->state = status == POWER_OK ? POWER_DIGEST_KNOWN : POWER_DIGEST_FAILED;
    if (status == POWER_OK) d->value = *digest;
    if (status != POWER_OK) d->error = *error;
    if (differs) atomic_store(&d->mismatch, 1);
    power_cond_broadcast(d->cond);
    power_mutex_unlock(d->mutex);
    return differs ? POWER_MISMATCH : status;
}

power_status power_model_mismatch(struct power_model *model, power_error *error) {
    char hex[65];
    power_mutex_lock(model->digest.mutex);
    power_digest_hex(&model->digest.value, hex);
    power_mutex_unlock(model->digest.mutex);
    return power_fail(error, POWER_MISMATCH, "the model's digest is %s, asked for was %s", hex,
                      model->digest.expected);
}

static power_status compute_and_publish(struct power_model *model, power_error *error) {
    struct power_digest digest = {0};
    power_error found = {0};
    power_status status = compute(model, &digest, &found);
    power_status published = publish(model, status, &digest, &found);
    if (published == POWER_MISMATCH && status == POWER_OK) {
        return power_model_mismatch(model, error);
    }
    if (status != POWER_OK && error) *error = found;
    return status;
}

static void digest_main(void *argument) {
    struct power_model *model = argument;
    power_error error = {0};
    power_status status = compute_and_publish(model, &error);
    if (status != POWER_OK && status != POWER_CANCELLED) {
        power_model_log(model, POWER_LOG_ERROR, "digest", error.message);
    }
}

power_status power_model_digest_init(struct power_model *model, power_error *error) {
    struct power_model_digest *d = &model->digest;
    power_status status = power_mutex_create(&d->mutex, model->host.allocator, error);
    if (status != POWER_OK) return status;
    return power_cond_create(&d->cond, model->host.allocator, error);
}

power_status power_model_digest_start(struct power_model *model, power_error *error) {
    struct power_model_digest *d = &model->digest;
    if (model->options.verify == POWER_VERIFY_ALWAYS ||
        (model->options.metadata_only && d->expects)) {
        return compute_and_publish(model, error);
    }
    if (model->options.verify == POWER_VERIFY_NEVER || model->options.metadata_only) {
        return POWER_OK;
    }
    d->state = POWER_DIGEST_RUNNING;
    power_status status = power_thread_start(&d->thread, model->host.allocator, "power-digest",
                                             digest_main, model, error);
    if (status != POWER_OK) d->state = POWER_DIGEST_NONE;
    return status;
}

power_status power_model_digest_get(struct power_model *model, struct power_digest *out,
                                    power_error *error) {
    struct power_model_digest *d = &model->digest;
    power_mutex_lock(d->mutex);
    while (d->state == POWER_DIGEST_RUNNING)
        power_cond_wait(d->cond, d->mutex);
    bool computes = d->state == POWER_DIGEST_NONE;
    power_mutex_unlock(d->mutex);
    if (computes) { /* asked for the first time; a second caller at once does the same work */
        power_status status = compute_and_publish(model, error);
        if (status != POWER_OK && status != POWER_MISMATCH) return status;
    }
    power_mutex_lock(d->mutex);
    bool known = d->state == POWER_DIGEST_KNOWN;
    if (known) *out = d->value;
    power_error failed = d->error;
    power_mutex_unlock(d->mutex);
    if (known) return POWER_OK;
    if (error) *error = failed;
    return failed.status;
}

void power_model_digest_finish(struct power_model *model) {
    struct power_model_digest *d = &model->digest;
    atomic_store(&d->cancel, 1);
    power_thread_join(d->thread);
    d->thread = NULL;
    power_cond_destroy(d->cond);
    power_mutex_destroy(d->mutex);
}

/* ---- without reading the weights ---- */

power_status power_model_outline(const struct power_model *model, struct power_digest *out,
                                 power_error *error) {
    const struct power_source *source = model->source;
    struct power_sha256 *sha = NULL;
    power_status status = power_sha256_create(&sha, error);
    if (status != POWER_OK) return status;
    for (uint32_t i = 0; status == POWER_OK && i < source->n_metas; i++) {
        const struct power_meta *meta = &source->metas[i];
        status = power_sha256_update(sha, meta->key.bytes, meta->key.length);
        if (status == POWER_OK) status = add_u64(sha, (uint64_t)meta->type);
        if (status != POWER_OK || meta->type == POWER_META_ARRAY) continue;
        if (meta->type == POWER_META_TEXT) {
            status = power_sha256_update(sha, meta->value.text.bytes, meta->value.text.length);
        } else {
            status = add_u64(sha, meta->value.u);
        }
    }
    for (uint32_t i = 0; status == POWER_OK && i < source->n_tensors; i++) {
        const struct power_tensor *tensor = &source->tensors[i];
        status = power_sha256_update(sha, tensor->name.bytes, tensor->name.length);
        if (status == POWER_OK) status = add_u64(sha, (uint64_t)tensor->dtype);
        for (int d = 0; status == POWER_OK && d < 4; d++)
            status = add_u64(sha, tensor->dims[d]);
        if (status == POWER_OK) status = add_u64(sha, tensor->length_bytes);
    }
    if (status == POWER_OK) status = power_sha256_final(sha, out);
    power_sha256_destroy(sha);
    return status == POWER_OK ? status : power_fail(error, status, "no memory for a digest");
}
