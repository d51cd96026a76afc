/* SPDX-License-Identifier: MIT */
/* GGUF files as sets: a single file, or all parts of "NAME-00001-of-0000N.gguf".
 * Input: a source whose file 0 is open. Output: the source's keys and tensors, all files open.
 * Threads: the one that opens.
 * Bounds: POWER_FORMAT_MAX_FILES parts. Files that are no models are refused by what they are. */
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "format/internal.h"

enum { SUFFIX_BYTES = 20 }; /* "-00001-of-00003.gguf" */

static bool text_is(const struct power_part *part, const char *key, const char *value) {
    const struct power_meta *meta = power_part_meta(part, key);
    return meta && meta->type == POWER_META_TEXT &&
           power_text_equal(meta->value.text, power_text_of(value));
}

/* Adapters, projectors and data files have the container of a model and are none. */
static power_status refuse_other_kinds(const struct power_part *part, power_error *error) {
    static const struct {
        const char *key, *value, *what;
    } kinds[] = {
        {"general.type", "adapter", "an adapter file"},
        {"general.type", "mmproj", "a projector file"},
        {"general.type", "imatrix", "an importance matrix"},
        {"general.type", "dataset", "a data set"},
        {"general.architecture", "clip", "a projector file"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!text_is(part, kinds[i].key, kinds[i].value)) continue;
        return power_fail(error, POWER_UNSUPPORTED,
                          "%s is not supported as a model (key \"%s\" is \"%s\")", kinds[i].what,
                          kinds[i].key, kinds[i].value);
    }
    if (power_part_meta(part, "adapter.type")) {
        return power_fail(error, POWER_UNSUPPORTED,
                          "an adapter file is not supported as a model (key \"adapter.type\")");
    }
    return POWER_OK;
}

/* An unsigned key of the split; `fallback` where it is missing. */
static power_status as_count(const struct power_meta *meta, const char *key, uint64_t fallback,
                             uint64_t *out, power_error *error) {
    *out = fallback;
    if (!meta || power_meta_as_u64(meta, out)) return POWER_OK;
    return power_fail(error, POWER_CORRUPT, "key \"%s\" is no count", key);
}

static power_status split_key(const struct power_part *part, const char *key, uint64_t fallback,
                              uint64_t *out, power_error *error) {
    return as_count(power_part_meta(part, key), key, fallback, out, error);
}

static power_status check_part(const struct power_part *part, uint64_t number, uint64_t count,
                               power_error *error) {
    uint64_t own_number, own_count;
    power_status status = split_key(part, "split.no", UINT64_MAX, &own_number, error);
    if (status != POWER_OK) return status;
    status = split_key(part, "split.count", UINT64_MAX, &own_count, error);
    if (status != POWER_OK) return status;
    if (own_number != number) {
        return power_fail(error, POWER_CORRUPT,
                          "key \"split.no\" of part %" PRIu64 " of %" PRIu64
                          " is missing or not %" PRIu64,
                          number + 1, count, number);
    }
    if (own_count != count) {
        return power_fail(error, POWER_CORRUPT,
                          "key \"split.count\" of part %" PRIu64 " is missing or not %" PRIu64,
                          number + 1, count);
    }
    return POWER_OK;
}

/* The path of part `number` + 1; the path of the first must have the form that names its parts. */
static power_status part_path(struct power_source *s, const char *first, uint64_t number,
                              uint64_t count, char **out, power_error *error) {
    size_t length = strlen(first), bytes;
    char suffix[64];
    snprintf(suffix, sizeof suffix, "-00001-of-%05" PRIu64 ".gguf", count);
    if (length < SUFFIX_BYTES || strcmp(first + length - SUFFIX_BYTES, suffix) != 0) {
        return power_fail(error, POWER_INVALID,
                          "\"%s\" is the first of %" PRIu64 " parts, its name must end in \"%s\"",
                          power_path_name(first).text, count, suffix);
    }
    bytes = length + sizeof suffix;
    char *path = power_arena_alloc(&s->arena, bytes, 1);
    if (!path) return power_fail_memory(error, bytes, "a path");
    snprintf(path, bytes, "%.*s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", (int)(length - SUFFIX_BYTES),
             first, number + 1, count);
    *out = path;
    return POWER_OK;
}

/* Part `number`: opens, reads, checks that it says it is that part. */
static power_status open_part(struct power_source *s, const char *first, uint32_t number,
                              uint32_t count, const struct power_source_options *options,
                              struct power_part *part, power_error *error) {
    char *path = NULL;
    power_status status = part_path(s, first, number, count, &path, error);
    if (status == POWER_OK) status = power_source_add_file(s, path, options, error);
    if (status == POWER_OK) status = power_gguf_read(s, number, part, error);
    if (status == POWER_OK) status = check_part(part, number, count, error);
    return status;
}

static power_status check_total(const struct power_source *s, power_error *error) {
    uint64_t total;
    static const char key[] = "split.tensors.count";
    power_status status = as_count(power_source_meta(s, key), key, s->n_tensors, &total, error);
    if (status == POWER_OK && total != s->n_tensors) {
        return power_fail(error, POWER_CORRUPT,
                          "key \"split.tensors.count\" is %" PRIu64 ", the parts hold %" PRIu32,
                          total, s->n_tensors);
    }
    return status;
}

static power_status open_rest(struct power_source *s, const char *path, uint64_t count,
                              const struct power_source_options *options, struct power_part *first,
                              power_error *error) {
    if (count > POWER_FORMAT_MAX_FILES) {
        return power_fail(error, POWER_LIMIT, "key \"split.count\": %" PRIu64 " parts, limit %d",
                          count, POWER_FORMAT_MAX_FILES);
    }
    power_status status = check_part(first, 0, count, error);
    if (status != POWER_OK) return status;
    uint32_t n = (uint32_t)count;
    struct power_part *parts = power_alloc(s->allocator, n, sizeof *parts);
    if (!parts) return power_fail_memory(error, n * sizeof *parts, "the parts of a model");
    parts[0] = *first;
    status = power_source_reserve_files(s, n, error);
    for (uint32_t i = 1; i < n && status == POWER_OK; i++) {
        status = open_part(s, path, i, n, options, &parts[i], error);
    }
    if (status == POWER_OK) status = power_source_join(s, parts, error);
    if (status == POWER_OK) status = check_total(s, error);
    *first = parts[0]; /* the caller finishes it */
    for (uint32_t i = 1; i < n; i++) {
        power_part_finish(&parts[i]);
    }
    power_release(s->allocator, parts, n, sizeof *parts);
    return status;
}

power_status power_gguf_open_set(struct power_source *s, const char *path,
                                 const struct power_source_options *options, power_error *error) {
    struct power_part first = {0};
    power_status status = power_gguf_read(s, 0, &first, error);
    if (status != POWER_OK) return status;
    uint64_t count = 1, number = 0;
    status = refuse_other_kinds(&first, error);
    if (status == POWER_OK) status = split_key(&first, "split.count", 1, &count, error);
    if (status == POWER_OK) status = split_key(&first, "split.no", 0, &number, error);
    if (status != POWER_OK) goto cleanup;
    if (number != 0) {
        status = power_fail(error, POWER_INVALID,
                            "\"%s\" is part %" PRIu64 " of %" PRIu64 ", open the first part",
                            power_path_name(path).text, number + 1, count);
        goto cleanup;
    }
    status = count > 1 ? open_rest(s, path, count, options, &first, error)
                       : power_source_join(s, &first, error);
cleanup:
    power_part_finish(&first);
    return status;
}
