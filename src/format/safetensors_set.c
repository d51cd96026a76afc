/* SPDX-License-Identifier: MIT */
/* SafeTensors models as folders: one file or the shards of an index, with the JSON files beside
 * them. Input: a folder, or a source whose file 0 is open. Output: the source, all files open.
 * Threads: the one that opens.
 * Bounds: POWER_FORMAT_MAX_FILES shards; each companion file has a limit of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "format/internal.h"
#include "format/json_scan.h"

#define INDEX_NAME "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"

enum {
    INDEX_MAX = 64 << 20,
    SMALL_MAX = 4 << 20,
    TOKENIZER_MAX = 256 << 20,
    N_COMPANIONS = 8,
    MAPPING_MIN = 7 /* the shortest entry of a weight map: "":"", and a comma */
};

static char *join_path(struct power_source *s, const char *folder, const char *name,
                       power_error *error) {
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = power_arena_alloc(&s->arena, bytes, 1);
    if (!path) {
        (void)power_fail_memory(error, bytes, "a path");
        return NULL;
    }
    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

/* A whole file beside the model, if it is there. The arena may hold it on top of what it may hold
 * now. */
static power_status load_file(struct power_source *s, const char *folder, const char *name,
                              size_t max_bytes, struct power_text *out, power_error *error) {
    char *path = join_path(s, folder, name, error);
    if (!path) return POWER_NO_MEMORY;
    size_t kept = s->arena.max_bytes, used = s->arena.used_bytes, raised;
    if (power_add_size(kept, max_bytes + 64, &raised)) s->arena.max_bytes = raised;
    power_status status = power_file_load(&s->arena, path, max_bytes, out, error);
    if (power_add_size(kept, s->arena.used_bytes - used, &raised)) s->arena.max_bytes = raised;
    return status;
}

static power_status load_companions(struct power_source *s, const char *folder,
                                    power_error *error) {
    struct power_source_own *own = power_source_own(s);
    const struct {
        const char *name;
        size_t max_bytes;
        struct power_text *out;
    } files[N_COMPANIONS] = {
        {"config.json", SMALL_MAX, &s->config_json},
        {"tokenizer.json", TOKENIZER_MAX, &s->tokenizer_json},
        {"tokenizer_config.json", SMALL_MAX, &s->tokenizer_config_json},
        {"generation_config.json", SMALL_MAX, &s->generation_config_json},
        {"tokenizer.model", TOKENIZER_MAX, &s->tokenizer_model},
        {"chat_template.jinja", SMALL_MAX, &s->chat_template_file},
        {"additional_chat_templates/tool_use.jinja", SMALL_MAX, &s->tool_template_file},
        {"additional_chat_templates/rag.jinja", SMALL_MAX, &s->rag_template_file},
    };
    own->companion_names = power_arena_alloc(&s->arena, N_COMPANIONS, sizeof(struct power_text));
    own->companion_texts = power_arena_alloc(&s->arena, N_COMPANIONS, sizeof(struct power_text));
    if (!own->companion_names || !own->companion_texts) {
        return power_fail_memory(error, 2 * N_COMPANIONS * sizeof(struct power_text), "names");
    }
    for (size_t i = 0; i < N_COMPANIONS; i++) {
        power_error detail = {0};
        struct power_text text;
        power_status status =
            load_file(s, folder, files[i].name, files[i].max_bytes, &text, &detail);
        if (status == POWER_NOT_FOUND) continue;
        if (status != POWER_OK) {
            if (error) *error = detail;
            return status;
        }
        *files[i].out = text;
        own->companion_names[own->n_companions] = power_text_of(files[i].name);
        own->companion_texts[own->n_companions++] = text;
    }
    return POWER_OK;
}

/* ---- one file ---- */

/* "-00002-of-00005.safetensors" at the end of a name. */
static bool is_shard_name(const char *name) {
    static const char form[] = "-#####-of-#####.safetensors";
    size_t length = strlen(name), want = sizeof form - 1;
    if (length < want) return false;
    for (size_t i = 0; i < want; i++) {
        char c = name[length - want + i];
        if (form[i] == '#' ? c < '0' || c > '9' : c != form[i]) return false;
    }
    return true;
}

static power_status folder_of(struct power_source *s, const char *path, char **out,
                              power_error *error) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    char *folder = power_arena_text(&s->arena, slash ? path : ".", length);
    if (!folder) return power_fail_memory(error, length, "a path");
    *out = folder;
    return POWER_OK;
}

static power_status read_single(struct power_source *s, power_error *error) {
    struct power_part part = {0};
    power_status status = power_safetensors_read(s, 0, &part, error);
    if (status == POWER_OK) status = power_source_join(s, &part, error);
    power_part_finish(&part);
    return status;
}

power_status power_safetensors_open_file(struct power_source *s, const char *path,
                                         power_error *error) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (is_shard_name(name)) {
        return power_fail(error, POWER_INVALID,
                          "\"%s\" is one shard of a model, open the folder it lies in",
                          power_path_name(path).text);
    }
    if (strncmp(name, "adapter_model.", 14) == 0) {
        return power_fail(error, POWER_UNSUPPORTED,
                          "\"%s\" is an adapter file, not supported as a model",
                          power_path_name(path).text);
    }
    power_status status = read_single(s, error);
    if (status != POWER_OK || s->files[0].file.fd < 0) return status;
    char *folder = NULL;
    status = folder_of(s, path, &folder, error);
    return status == POWER_OK ? load_companions(s, folder, error) : status;
}

/* ---- shards ---- */

/* What the index says: tensor -> shard. */
struct entry {
    struct power_text tensor;
    uint32_t shard; /* first by order of appearance, later by name */
};

struct shard {
    struct power_text name;
    uint32_t order; /* of appearance */
};

struct weight_map {
    struct power_source *source;
    power_error *error;
    struct power_json_scan scan;
    struct entry *entries;
    uint32_t n_entries, max_entries;
    struct shard *shards;
    uint32_t n_shards;
    struct power_index *names;
};

static power_status index_fault(const struct weight_map *map, const char *fault) {
    return power_fail_at(map->error, POWER_CORRUPT, map->scan.at,
                         "\"" INDEX_NAME "\" at byte %zu: %s", map->scan.at,
                         map->scan.fault ? map->scan.fault : fault);
}

/* A name in the same folder: no path leads out of it. */
static bool is_plain_name(struct power_text name) {
    if (name.length == 0 || name.length > 255 || name.bytes[0] == '.') return false;
    return !memchr(name.bytes, '/', name.length) && !memchr(name.bytes, '\0', name.length);
}

static power_status add_entry(struct weight_map *map, struct power_text tensor,
                              struct power_text file) {
    uint32_t shard;
    if (!is_plain_name(file)) return index_fault(map, "a shard's name is no plain file name");
    if (map->n_entries == map->max_entries) return index_fault(map, "too many tensors");
    if (!power_index_find(map->names, file, &shard)) {
        if (map->n_shards == POWER_FORMAT_MAX_FILES) return index_fault(map, "too many shards");
        shard = map->n_shards++;
        map->shards[shard] = (struct shard){file, shard};
        power_index_add(map->names, file, shard);
    }
    map->entries[map->n_entries++] = (struct entry){tensor, shard};
    return POWER_OK;
}

static power_status read_weight_map(struct weight_map *map) {
    struct power_text tensor, file;
    bool first = true;
    if (!power_json_scan_expect(&map->scan, '{')) return index_fault(map, "");
    while (power_json_scan_next(&map->scan, '}', &first)) {
        if (!power_json_scan_key(&map->scan, &tensor) || !power_json_scan_text(&map->scan, &file)) {
            break;
        }
        power_status status = add_entry(map, tensor, file);
        if (status != POWER_OK) return status;
    }
    return map->scan.fault ? index_fault(map, "") : POWER_OK;
}

static power_status read_index(struct weight_map *map) {
    struct power_text key;
    bool first = true, seen = false;
    if (!power_json_scan_expect(&map->scan, '{')) return index_fault(map, "");
    while (power_json_scan_next(&map->scan, '}', &first)) {
        if (!power_json_scan_key(&map->scan, &key)) break;
        if (power_text_equal(key, POWER_TEXT("weight_map"))) {
            if (seen) return index_fault(map, "\"weight_map\" is given twice");
            seen = true;
            power_status status = read_weight_map(map);
            if (status != POWER_OK) return status;
        } else if (!power_json_scan_skip(&map->scan)) {
            break;
        }
    }
    if (map->scan.fault || !power_json_scan_end(&map->scan)) return index_fault(map, "");
    if (map->n_shards == 0) return index_fault(map, "\"weight_map\" names no shard");
    return POWER_OK;
}

static int by_name(const void *a, const void *b) {
    const struct shard *x = a, *y = b;
    size_t least = x->name.length < y->name.length ? x->name.length : y->name.length;
    int order = memcmp(x->name.bytes, y->name.bytes, least);
    if (order != 0) return order;
    return (x->name.length > y->name.length) - (x->name.length < y->name.length);
}

/* Shards by name, so that the order of files does not hang on the order of the index. */
static power_status sort_shards(struct weight_map *map) {
    uint32_t *place = power_arena_alloc(&map->source->arena, map->n_shards, sizeof *place);
    if (!place) return power_fail_memory(map->error, map->n_shards * sizeof *place, "shards");
    qsort(map->shards, map->n_shards, sizeof *map->shards, by_name);
    for (uint32_t i = 0; i < map->n_shards; i++) {
        place[map->shards[i].order] = i;
    }
    for (uint32_t i = 0; i < map->n_entries; i++) {
        map->entries[i].shard = place[map->entries[i].shard];
    }
    return POWER_OK;
}

/* Each tensor that the index lists lies in the shard that it names. */
static power_status check_entries(const struct weight_map *map) {
    const struct power_source *s = map->source;
    for (uint32_t i = 0; i < map->n_entries; i++) {
        const struct entry *entry = &map->entries[i];
        uint32_t at;
        bool found = power_index_find(s->tensor_index, entry->tensor, &at);
        if (found && s->tensors[at].file == entry->shard) continue;
        struct power_text shard = map->shards[entry->shard].name;
        return power_fail(map->error, POWER_CORRUPT, "tensor \"%s\" is not in \"%s\"",
                          power_quote(entry->tensor.bytes, entry->tensor.length).text,
                          power_quote(shard.bytes, shard.length).text);
    }
    return POWER_OK;
}

static power_status open_shards(struct weight_map *map, const char *folder,
                                const struct power_source_options *options) {
    struct power_source *s = map->source;
    power_error *error = map->error;
    uint32_t n = map->n_shards;
    struct power_part *parts = power_alloc(s->allocator, n, sizeof *parts);
    if (!parts) return power_fail_memory(error, n * sizeof *parts, "the shards of a model");
    power_status status = power_source_reserve_files(s, n, error);
    for (uint32_t i = 0; i < n && status == POWER_OK; i++) {
        char *path = join_path(s, folder, map->shards[i].name.bytes, error);
        status = path ? power_source_add_file(s, path, options, error) : POWER_NO_MEMORY;
        if (status == POWER_OK) status = power_safetensors_read(s, i, &parts[i], error);
    }
    if (status == POWER_OK) status = power_source_join(s, parts, error);
    if (status == POWER_OK) status = check_entries(map);
    for (uint32_t i = 0; i < n; i++) {
        power_part_finish(&parts[i]);
    }
    power_release(s->allocator, parts, n, sizeof *parts);
    return status;
}

static power_status open_index(struct power_source *s, const char *folder,
                               const struct power_source_options *options, power_error *error) {
    struct weight_map map = {.source = s, .error = error};
    struct power_text text;
    struct power_arena arena; /* gone before the model is */
    power_arena_init(&arena, s->allocator, (size_t)INDEX_MAX * 5);
    char *path = join_path(s, folder, INDEX_NAME, error);
    if (!path) return POWER_NO_MEMORY;
    power_status status = power_file_load(&arena, path, INDEX_MAX, &text, error);
    if (status != POWER_OK) goto cleanup;
    size_t most = text.length / MAPPING_MIN + 1;
    if (most > POWER_FORMAT_MAX_TENSORS) most = POWER_FORMAT_MAX_TENSORS;
    map.max_entries = (uint32_t)most;
    map.entries = power_arena_alloc(&arena, most, sizeof *map.entries);
    map.shards = power_arena_alloc(&arena, POWER_FORMAT_MAX_FILES, sizeof *map.shards);
    char *copy = power_arena_text(&arena, text.bytes, text.length); /* the scanner writes into it */
    if (!map.entries || !map.shards || !copy) {
        status = power_fail_memory(error, text.length * 5, "the index of a model");
        goto cleanup;
    }
    power_json_scan_init(&map.scan, copy, text.length);
    status = power_index_create(s->allocator, POWER_FORMAT_MAX_FILES, &map.names, error);
    if (status == POWER_OK) status = read_index(&map);
    if (status == POWER_OK) status = sort_shards(&map);
    if (status == POWER_OK) status = open_shards(&map, folder, options);
cleanup:
    power_index_destroy(map.names);
    power_arena_finish(&arena);
    return status;
}

/* ---- folders ---- */

static power_status open_single(struct power_source *s, const char *path,
                                const struct power_source_options *options, power_error *error) {
    power_status status = power_source_reserve_files(s, 1, error);
    if (status == POWER_OK) status = power_source_add_file(s, path, options, error);
    return status == POWER_OK ? read_single(s, error) : status;
}

power_status power_safetensors_open_folder(struct power_source *s, const char *path,
                                           const struct power_source_options *options,
                                           power_error *error) {
    char *index = join_path(s, path, INDEX_NAME, error);
    char *single = index ? join_path(s, path, SINGLE_NAME, error) : NULL;
    char *adapter = single ? join_path(s, path, "adapter_config.json", error) : NULL;
    if (!adapter) return POWER_NO_MEMORY;
    power_status status;
    if (power_path_exists(index)) {
        status = open_index(s, path, options, error);
    } else if (power_path_exists(single)) {
        status = open_single(s, single, options, error);
    } else if (power_path_exists(adapter)) {
        status = power_fail(error, POWER_UNSUPPORTED,
                            "the folder \"%s\" holds an adapter, not supported as a model",
                            power_path_name(path).text);
    } else {
        status = power_fail(error, POWER_NOT_FOUND,
                            "the folder \"%s\" holds neither " INDEX_NAME " nor " SINGLE_NAME,
                            power_path_name(path).text);
    }
    return status == POWER_OK ? load_companions(s, path, error) : status;
}
