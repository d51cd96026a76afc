/* SPDX-License-Identifier: MIT */
/* Where weights live: tensors of a source, brought to a device, packed for its products.
 * Input: an open source and a device. Output: the weight table that plans are compiled with.
 * Owner: the model. Threads: building one (packing uses several); the table is immutable after.
 * Bounds: bytes are counted before they are taken, against a limit given at creation. */
#ifndef POWER_WEIGHTS_WEIGHTS_H
#define POWER_WEIGHTS_WEIGHTS_H

#include "device/device.h"
#include "format/source.h"

struct power_weights;

enum power_weight_change { /* of values, which become F32 */
                           POWER_CHANGE_NONE = 0,
                           POWER_CHANGE_PLUS_ONE,  /* w + 1 */
                           POWER_CHANGE_MINUS_EXP, /* -exp(w) */
};

/* Reordering of rows (of columns where `columns` is set; of the elements of a vector), so that a
 * model has one layout whichever form it came in. */
enum power_weight_order_kind {
    POWER_ORDER_AS_IS = 0,
    POWER_ORDER_HALVES_TO_ADJACENT, /* each of `heads` heads: rotary halves become adjacent pairs */
    POWER_ORDER_TILE_HEADS /* from `first` on: head g * (heads / groups) + j becomes j * groups + g
                            */
};
struct power_weight_order {
    enum power_weight_order_kind kind;
    uint32_t heads, groups;
    uint64_t first;
    bool columns;
};

struct power_weights_options {
    bool pack;
    uint64_t max_bytes; /* of anonymous memory for packs and copies; 0: no limit */
    uint32_t threads;   /* packing */
    int (*progress)(void *context, double done);
    void *progress_context;
};

power_status power_weights_create(const power_allocator *allocator,
                                  const struct power_source *source, struct power_device *device,
                                  const struct power_weights_options *options,
                                  struct power_weights **out, power_error *error) POWER_MUST_USE;
void power_weights_destroy(struct power_weights *weights);

enum power_weight_use {
    POWER_WEIGHT_PRODUCT, /* right side of products: packed where the device has a recipe */
    POWER_WEIGHT_GATHER,  /* rows are gathered: reads the raw form */
    POWER_WEIGHT_VALUES   /* norms, biases, small tables: brought to F32 (exact widening) */
};

struct power_weight_request {
    const char *tensor;  /* GGUF name; experts may also lie in parts "NAME.0", "NAME.1", ... */
    uint64_t cols, rows; /* wanted; 0: whatever is there. A vector has rows = 1 */
    uint32_t slices;     /* wanted experts; 0: 1 */
    enum power_weight_use use;
    enum power_weight_change change;
    struct power_weight_order order;
};

/* Registers a tensor once and returns its place in the table: a matrix [slices][rows][cols] (GGUF
 * dims cols, rows, slices; dims of 1 in between are ignored). The same name may be added again for
 * another use. POWER_NOT_FOUND names the tensor; wrong dims are POWER_CORRUPT with both shapes.
 * Adding is allowed after a commit only for names that are there already. */
power_status power_weights_add(struct power_weights *weights,
                               const struct power_weight_request *request,
                               struct power_weight_slice *out, power_error *error) POWER_MUST_USE;
/* Whether a tensor of the source was added (an expert's part: its whole). */
bool power_weights_uses(const struct power_weights *weights, struct power_text tensor);
bool power_weights_has(const struct power_weights *weights, const char *tensor);
/* Values of a (small) tensor as F32 on the host, for families that need them at build (rope_freqs).
 */
power_status power_weights_read_f32(struct power_weights *weights, const char *tensor, float *out,
                                    uint64_t count, power_error *error) POWER_MUST_USE;

/* Uploads or wraps, and packs. After this the table can be compiled against. */
power_status power_weights_commit(struct power_weights *weights, power_error *error) POWER_MUST_USE;
const struct power_weight_table *power_weights_table(const struct power_weights *weights);
uint64_t power_weights_memory(const struct power_weights *weights); /* anonymous bytes held */

#endif
