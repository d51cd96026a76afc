/* SPDX-License-Identifier: MIT */
/* The canonical listing of a graph and its digest.
 * Input: a finished graph. Output: text appended to a buffer, last line "sha256 HEX" of the lines
 * before. Threads: any. Bounds: the buffer's maximum. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "graph/graph.h"
#include "graph/rules.h"

static bool put(struct power_buffer *out, const char *format, ...) POWER_PRINTF(2, 3);
static bool put(struct power_buffer *out, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return n >= 0 && (size_t)n < sizeof line && power_buffer_append(out, line, (size_t)n);
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static bool put_pieces(const struct power_graph *g, struct power_buffer *out) {
    bool ok = true;
    for (uint32_t i = 0; i < g->n_pieces; i++) {
        const struct power_piece *p = &g->pieces[i];
        ok = ok && put(out,
                       "piece %u kind %d layers %u kv %u %u %u window %u type %d heads %u %u dims "
                       "%u %u conv %u %u\n",
                       i, (int)p->kind, p->n_layers, p->n_kv_heads, p->k_dim, p->v_dim, p->window,
                       (int)p->kv_dtype, p->n_heads, p->n_k_heads, p->d_k, p->d_v, p->channels,
                       p->kernel);
    }
    return ok;
}

static bool put_ropes(const struct power_graph *g, struct power_buffer *out) {
    bool ok = true;
    for (uint32_t i = 0; i < g->n_ropes; i++) {
        const struct power_rope_table *t = &g->ropes[i];
        ok = ok && put(out, "rope %u dims %u original %u factor %a %a", i, t->rot_dim,
                       t->original_context, t->factor, t->factor_long);
        for (uint32_t j = 0; ok && j < t->rot_dim / 2; j++) {
            ok = put(out, " %08" PRIx32, bits_of(t->inv_freq[j]));
            if (ok && t->inv_freq_long) ok = put(out, "/%08" PRIx32, bits_of(t->inv_freq_long[j]));
        }
        ok = ok && put(out, "\n");
    }
    return ok;
}

static bool put_value(const struct power_graph *g, struct power_buffer *out, power_value id) {
    const struct power_graph_value *v = &g->values[id];
    const struct power_weight_slice *w = &v->weight;
    bool ok = put(out, "%%%u", id);
    switch (v->kind) {
    case POWER_VALUE_TENSOR:
        ok = ok && put(out, " tensor %s", power_dims_format(v).text);
        break;
    case POWER_VALUE_WEIGHT:
        ok = ok && put(out, " weight %u rows %" PRIu64 "+%" PRIu64 " cols %" PRIu64 " slices %u %s",
                       w->weight, w->row_first, w->rows, w->cols, w->slices,
                       power_dtype_info((uint32_t)w->dtype).name);
        break;
    case POWER_VALUE_QROW:
        ok = ok && put(out, " qrow %u %s", v->qblock, power_dims_format(v).text);
        break;
    case POWER_VALUE_STATE:
        ok = ok && put(out, " state %u.%u version %u", v->piece, v->layer, v->version);
        break;
    case POWER_VALUE_INDEX:
        ok = ok && put(out, " index %d.%u", (int)v->index, v->index_arg);
        break;
    case POWER_VALUE_ROUTES:
        ok = ok && put(out, " routes %s", power_dims_format(v).text);
        break;
    }
    if (v->is_input || v->is_output)
        ok = ok && put(out, " %s \"%s\"", v->is_input ? "input" : "output",
                       power_quote(v->name.bytes, v->name.length).text);
    return ok && put(out, "\n");
}

static bool put_op(struct power_buffer *out, const struct power_graph_op *op) {
    bool ok = put(out, "%s(", power_op_info(op->code)->name);
    for (uint32_t i = 0; ok && i < op->n_in; i++)
        ok = put(out, "%s%%%u", i ? ", " : "", op->in[i]);
    ok = ok && put(out, ") i %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, op->attr.i[0],
                   op->attr.i[1], op->attr.i[2], op->attr.i[3]);
    ok = ok && put(out, " f %08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 " ->",
                   bits_of(op->attr.f[0]), bits_of(op->attr.f[1]), bits_of(op->attr.f[2]),
                   bits_of(op->attr.f[3]));
    for (uint32_t i = 0; ok && i < op->n_out; i++)
        ok = put(out, " %%%u", op->out[i]);
    return ok && put(out, " # %s\n", power_quote(op->label.bytes, op->label.length).text);
}

power_status power_graph_describe(const struct power_graph *g, struct power_buffer *out,
                                  power_error *error) {
    size_t first = out->length;
    bool ok = put_pieces(g, out) && put_ropes(g, out);
    for (power_value i = 1; ok && i < g->n_values; i++)
        ok = put_value(g, out, i);
    for (uint32_t i = 0; ok && i < g->n_ops; i++)
        ok = put_op(out, &g->ops[i]);
    if (!ok) return power_fail_memory(error, out->length, "graph listing");
    struct power_digest digest;
    char hex[65];
    power_status status = power_sha256_once(out->bytes + first, out->length - first, &digest);
    if (status != POWER_OK) return power_fail(error, status, "graph listing: digest failed");
    power_digest_hex(&digest, hex);
    if (!put(out, "sha256 %s\n", hex))
        return power_fail_memory(error, out->length, "graph listing");
    return POWER_OK;
}
