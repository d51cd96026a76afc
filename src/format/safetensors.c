/* SPDX-License-Identifier: MIT */
/* One SafeTensors file: its header. Input: an open file. Output: a checked power_part.
 * Source: the format's description in the README of huggingface/safetensors.
 * Threads: the one that opens.
 * Bounds: a header of at most 100,000,000 bytes (the format's own limit) that the file has room
 * for; the tensors cover the bytes after it without gaps or overlaps. */
#include <inttypes.h>

#include "base/checked.h"
#include "format/input.h"
#include "format/json_scan.h"

enum {
    HEADER_MAX = 100000000,
    ENTRY_MIN = 48 /* no entry is shorter: "a":{"dtype":"F16","shape":[],"data_offsets":[0,2]} */
};

struct parser {
    struct power_source *source;
    power_error *error;
    uint32_t file;
    uint64_t data_start, data_length;
    struct power_json_scan scan;
};

/* Where the scanner stands, as an offset in the file. */
static uint64_t place(const struct parser *p) {
    return 8 + p->scan.at;
}

static power_status json_fault(const struct parser *p) {
    return power_fail_at(p->error, POWER_CORRUPT, place(p),
                         "the header is no proper JSON at byte %" PRIu64 ": %s", place(p),
                         p->scan.fault ? p->scan.fault : "unknown fault");
}

static power_status bad_tensor(const struct parser *p, struct power_text name, const char *fault) {
    return power_fail_at(p->error, POWER_CORRUPT, place(p), "tensor \"%s\": %s",
                         power_quote(name.bytes, name.length).text, fault);
}

static power_status read_dtype(struct parser *p, struct power_tensor *tensor) {
    static const struct {
        const char *name;
        enum power_dtype dtype;
    } known[] = {
        {"F32", POWER_DTYPE_F32}, {"F16", POWER_DTYPE_F16}, {"BF16", POWER_DTYPE_BF16},
        {"F64", POWER_DTYPE_F64}, {"I8", POWER_DTYPE_I8},   {"I16", POWER_DTYPE_I16},
        {"I32", POWER_DTYPE_I32}, {"I64", POWER_DTYPE_I64},
    };
    struct power_text text;
    if (!power_json_scan_text(&p->scan, &text)) return json_fault(p);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!power_text_equal(text, power_text_of(known[i].name))) continue;
        tensor->dtype = known[i].dtype;
        return POWER_OK;
    }
    return power_fail_at(p->error, POWER_UNSUPPORTED, place(p),
                         "tensor \"%s\": dtype \"%s\" is not supported",
                         power_quote(tensor->name.bytes, tensor->name.length).text,
                         power_quote(text.bytes, text.length).text);
}

/* The header names the outermost dimension first; ours is the other way round. */
static power_status read_shape(struct parser *p, struct power_tensor *tensor) {
    uint64_t shape[4] = {1, 1, 1, 1};
    bool first = true;
    if (!power_json_scan_expect(&p->scan, '[')) return json_fault(p);
    tensor->rank = 0;
    while (power_json_scan_next(&p->scan, ']', &first)) {
        if (tensor->rank == 4) {
            return power_fail_at(p->error, POWER_UNSUPPORTED, place(p),
                                 "tensor \"%s\": more than 4 dimensions are not supported",
                                 power_quote(tensor->name.bytes, tensor->name.length).text);
        }
        uint64_t *dim = &shape[tensor->rank++];
        if (!power_json_scan_u64(&p->scan, dim)) return json_fault(p);
        if (*dim == 0) return bad_tensor(p, tensor->name, "a dimension is 0");
        if (*dim > INT64_MAX) return bad_tensor(p, tensor->name, "a dimension is too large");
    }
    if (p->scan.fault) return json_fault(p);
    for (uint32_t i = 0; i < 4; i++) {
        tensor->dims[i] = i < tensor->rank ? shape[tensor->rank - 1 - i] : 1;
    }
    if (tensor->rank == 0) tensor->rank = 1;
    return POWER_OK;
}

static power_status read_offsets(struct parser *p, struct power_tensor *tensor) {
    uint64_t begin, end;
    if (!power_json_scan_expect(&p->scan, '[') || !power_json_scan_u64(&p->scan, &begin) ||
        !power_json_scan_expect(&p->scan, ',') || !power_json_scan_u64(&p->scan, &end) ||
        !power_json_scan_expect(&p->scan, ']')) {
        return json_fault(p);
    }
    if (begin > end) return bad_tensor(p, tensor->name, "data_offsets run backwards");
    if (end > p->data_length) {
        return power_fail_at(p->error, POWER_CORRUPT, place(p),
                             "tensor \"%s\": its bytes %" PRIu64 " to %" PRIu64
                             " go past the end of the file's %" PRIu64 " data bytes",
                             power_quote(tensor->name.bytes, tensor->name.length).text, begin, end,
                             p->data_length);
    }
    tensor->offset = p->data_start + begin;
    tensor->length_bytes = end - begin;
    return POWER_OK;
}

enum field { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4, FIELD_ALL = 7 };

static power_status read_field(struct parser *p, struct power_tensor *tensor, unsigned *seen) {
    struct power_text key;
    if (!power_json_scan_key(&p->scan, &key)) return json_fault(p);
    unsigned field = power_text_equal(key, POWER_TEXT("dtype"))          ? FIELD_DTYPE
                     : power_text_equal(key, POWER_TEXT("shape"))        ? FIELD_SHAPE
                     : power_text_equal(key, POWER_TEXT("data_offsets")) ? FIELD_OFFSETS
                                                                         : 0;
    if (field == 0) return bad_tensor(p, tensor->name, "an unknown field");
    if (*seen & field) return bad_tensor(p, tensor->name, "a field is given twice");
    *seen |= field;
    if (field == FIELD_DTYPE) return read_dtype(p, tensor);
    return field == FIELD_SHAPE ? read_shape(p, tensor) : read_offsets(p, tensor);
}

static power_status read_tensor(struct parser *p, struct power_tensor *tensor) {
    unsigned seen = 0;
    bool first = true;
    uint64_t bytes;
    tensor->file = p->file;
    if (!power_json_scan_expect(&p->scan, '{')) return json_fault(p);
    while (power_json_scan_next(&p->scan, '}', &first)) {
        power_status status = read_field(p, tensor, &seen);
        if (status != POWER_OK) return status;
    }
    if (p->scan.fault) return json_fault(p);
    if (seen != FIELD_ALL) {
        return bad_tensor(p, tensor->name, "dtype, shape or data_offsets is missing");
    }
    if (!power_tensor_bytes(tensor->dtype, tensor->dims, &bytes) || bytes != tensor->length_bytes) {
        return bad_tensor(p, tensor->name, "data_offsets do not fit shape and dtype");
    }
    return POWER_OK;
}

static power_status read_name(struct parser *p, struct power_text *out) {
    if (!power_json_scan_key(&p->scan, out)) return json_fault(p);
    for (size_t i = 0; i < out->length; i++) {
        unsigned char c = (unsigned char)out->bytes[i];
        if (c < 0x20 || c == 0x7f) return bad_tensor(p, *out, "a control byte in the name");
    }
    return out->length ? POWER_OK : bad_tensor(p, *out, "the name is empty");
}

/* "__metadata__" maps names to texts; nothing in it is used. */
static power_status skip_metadata(struct parser *p) {
    struct power_text text;
    bool first = true;
    if (!power_json_scan_expect(&p->scan, '{')) return json_fault(p);
    while (power_json_scan_next(&p->scan, '}', &first)) {
        if (!power_json_scan_key(&p->scan, &text) || !power_json_scan_text(&p->scan, &text)) break;
    }
    return p->scan.fault ? json_fault(p) : POWER_OK;
}

static power_status read_entry(struct parser *p, struct power_part *part, bool *metadata_seen) {
    struct power_text name;
    power_status status = read_name(p, &name);
    if (status != POWER_OK) return status;
    if (power_text_equal(name, POWER_TEXT("__metadata__"))) {
        if (*metadata_seen) return bad_tensor(p, name, "given twice");
        *metadata_seen = true;
        return skip_metadata(p);
    }
    struct power_tensor *tensor = &part->tensors[part->n_tensors];
    tensor->name = name;
    status = read_tensor(p, tensor);
    if (status != POWER_OK) return status;
    if (!power_index_add(part->tensor_index, name, part->n_tensors)) {
        return bad_tensor(p, name, "given twice");
    }
    part->n_tensors++;
    return POWER_OK;
}

static power_status read_entries(struct parser *p, struct power_part *part) {
    size_t most = p->scan.length / ENTRY_MIN + 1;
    if (most > POWER_FORMAT_MAX_TENSORS) most = POWER_FORMAT_MAX_TENSORS;
    part->tensors = power_arena_alloc(&p->source->arena, most, sizeof *part->tensors);
    if (!part->tensors) return power_fail_memory(p->error, most * 80, "the tensors");
    power_status status =
        power_index_create(p->source->allocator, most, &part->tensor_index, p->error);
    if (status != POWER_OK) return status;
    bool first = true, metadata_seen = false;
    if (!power_json_scan_expect(&p->scan, '{')) return json_fault(p);
    while (power_json_scan_next(&p->scan, '}', &first)) {
        if (part->n_tensors == most) {
            return power_fail_at(p->error, POWER_LIMIT, place(p), "more than %zu tensors", most);
        }
        status = read_entry(p, part, &metadata_seen);
        if (status != POWER_OK) return status;
    }
    return power_json_scan_end(&p->scan) ? POWER_OK : json_fault(p);
}

/* With no overlap, the lengths add up to the data's only when nothing lies between the tensors. */
static power_status check_cover(struct parser *p, const struct power_part *part) {
    uint64_t covered = 0;
    power_status status = power_part_check_overlap(part, p->source->allocator, p->error);
    if (status != POWER_OK) return status;
    for (uint32_t i = 0; i < part->n_tensors; i++) {
        covered += part->tensors[i].length_bytes;
    }
    if (covered == p->data_length) return POWER_OK;
    return power_fail_at(p->error, POWER_CORRUPT, p->data_start,
                         "the tensors cover %" PRIu64 " of the file's %" PRIu64 " data bytes",
                         covered, p->data_length);
}

static power_status read_header(struct parser *p, struct power_part *part) {
    const struct power_source_file *file = &p->source->files[p->file];
    uint64_t size = file->file.size_bytes;
    struct power_input in;
    if (size < 10) {
        return power_fail_at(p->error, POWER_CORRUPT, size,
                             "truncated: %" PRIu64 " bytes are too short for a SafeTensors file",
                             size);
    }
    power_status status = power_input_init(&in, file, p->source->allocator, p->error);
    if (status != POWER_OK) return status;
    uint64_t length = power_load_u64(power_input_take(&in, 8));
    char *header = NULL;
    if (in.status != POWER_OK) {
        status = in.status;
    } else if (length > size - 8) {
        status = power_fail_at(
            p->error, POWER_CORRUPT, 0,
            "truncated: a header of %" PRIu64 " bytes goes past the end of the file", length);
    } else if (length > HEADER_MAX) {
        status =
            power_fail_at(p->error, POWER_LIMIT, 0,
                          "a header of %" PRIu64 " bytes, the limit is %d", length, HEADER_MAX);
    } else {
        header = power_arena_alloc(&p->source->arena, (size_t)length + 1, 1);
        if (!header) status = power_fail_memory(p->error, (size_t)length, "a header");
    }
    if (header && !power_input_copy(&in, header, (size_t)length)) status = in.status;
    power_input_finish(&in);
    if (status != POWER_OK) return status;
    p->data_start = 8 + length;
    p->data_length = size - p->data_start;
    power_json_scan_init(&p->scan, header, (size_t)length);
    status = read_entries(p, part);
    return status == POWER_OK ? check_cover(p, part) : status;
}

power_status power_safetensors_read(struct power_source *s, uint32_t file, struct power_part *out,
                                    power_error *error) {
    struct parser parser = {.source = s, .error = error, .file = file};
    struct power_part part = {0};
    power_status status = power_index_create(s->allocator, 0, &part.meta_index, error);
    if (status == POWER_OK) status = read_header(&parser, &part);
    if (status == POWER_OK) {
        *out = part;
    } else {
        power_part_finish(&part);
    }
    return status;
}
