/* SPDX-License-Identifier: MIT */
/* A graph of your own: build it from operators, compile it once, run it many times.
 * It runs on the runtime's device with the same exact arithmetic as the models: the same inputs
 * give the same bits on every instruction set and with any number of threads. Threads: a builder
 * and its plans belong to one thread at a time; different builders are independent. Runs of plans
 * of one runtime follow one another. */
#ifndef POWER_GRAPH_H
#define POWER_GRAPH_H

#include "power/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct power_graph_builder power_graph_builder;
typedef struct power_graph_plan power_graph_plan;

/* A value of a builder: binary32, row-major. Rank 1 to 4; the last dimension is a constant. */
typedef uint32_t power_tensor;
#define POWER_NO_TENSOR 0u

/* A dimension: a positive constant, or what power_graph_named_dim returned. */
typedef int64_t power_graph_dim;

/* The builder borrows the runtime: close it first. POWER_NO_MEMORY. */
POWER_API POWER_MUST_USE power_status power_graph_builder_create(power_runtime *runtime,
                                                                 power_graph_builder **out_builder,
                                                                 power_error *error);
/* After its plans. NULL is allowed. */
POWER_API void power_graph_builder_destroy(power_graph_builder *builder);

/* Every call below checks shapes. The first mistake is kept, with the label in front: later calls
 * return POWER_NO_TENSOR and change nothing, and power_graph_plan_compile gives that error. */

/* A prefix for the messages about what is built from here on, e.g. "layer 3"; copied. */
POWER_API void power_graph_label(power_graph_builder *builder, const char *label);
/* A dimension chosen at each run, 1 to `maximum`; at most 4 a graph. `name` is copied. 0 on error.
 */
POWER_API power_graph_dim power_graph_named_dim(power_graph_builder *builder, const char *name,
                                                int64_t maximum);
/* An input [dims[0], ..., dims[rank - 1]], given at each run under its name (copied). */
POWER_API power_tensor power_graph_input(power_graph_builder *builder, const char *name,
                                         uint32_t rank, const power_graph_dim *dims);
/* A constant matrix [rows][cols], or a vector with rows = 1, copied. `type` is F32, F16, BF16 or a
 * quantised type by its GGUF name ("Q8_0", "Q4_K"), `bytes` its rows as GGUF stores them. */
POWER_API power_tensor power_graph_constant(power_graph_builder *builder, const char *type,
                                            uint64_t rows, uint64_t cols, const void *bytes,
                                            size_t n_bytes);

/* x [.., k] times weight [n][k] transposed, plus bias [n] (or POWER_NO_TENSOR): [.., n]. The
 * weight is a constant (for a computed matrix: power_tensor_matmul). Quantised weights multiply x
 * rounded to 8 bits in blocks of 32, or of 256 for types with blocks of 256. */
POWER_API power_tensor power_tensor_linear(power_graph_builder *builder, power_tensor x,
                                           power_tensor weight, power_tensor bias);
/* a [.., k] times b [k, n]: [.., n]. Neither is a constant; k is. */
POWER_API power_tensor power_tensor_matmul(power_graph_builder *builder, power_tensor a,
                                           power_tensor b);

typedef enum power_tensor_unary_op {
    POWER_TENSOR_NEG = 0,
    POWER_TENSOR_ABS,
    POWER_TENSOR_SQRT,
    POWER_TENSOR_EXP,
    POWER_TENSOR_LOG,
    POWER_TENSOR_TANH,
    POWER_TENSOR_ERF,
    POWER_TENSOR_SIGMOID,
    POWER_TENSOR_SILU,
    POWER_TENSOR_GELU_ERF,  /* x / 2 * (1 + erf(x / sqrt(2))) */
    POWER_TENSOR_GELU_TANH, /* its approximation by tanh */
    POWER_TENSOR_RELU,
    POWER_TENSOR_SOFTPLUS
} power_tensor_unary_op;
/* Each element by itself; the shape of x. */
POWER_API power_tensor power_tensor_unary(power_graph_builder *builder, power_tensor_unary_op op,
                                          power_tensor x);
/* x * factor */
POWER_API power_tensor power_tensor_scale(power_graph_builder *builder, power_tensor x,
                                          float factor);

typedef enum power_tensor_binary_op {
    POWER_TENSOR_ADD = 0,
    POWER_TENSOR_SUB,
    POWER_TENSOR_MUL,
    POWER_TENSOR_DIV,
    POWER_TENSOR_MIN,
    POWER_TENSOR_MAX
} power_tensor_binary_op;
/* op(a, b) with the shape of a, which is no constant. b has the same shape, or is a vector of a's
 * last dimension, one element, or one element a row ([.., 1]). b may be a constant. */
POWER_API power_tensor power_tensor_binary(power_graph_builder *builder, power_tensor_binary_op op,
                                           power_tensor a, power_tensor b);

/* Along the last dimension. Softmax keeps the shape; sum and mean give [.., 1]. */
POWER_API power_tensor power_tensor_softmax(power_graph_builder *builder, power_tensor x);
POWER_API power_tensor power_tensor_sum(power_graph_builder *builder, power_tensor x);
POWER_API power_tensor power_tensor_mean(power_graph_builder *builder, power_tensor x);
/* Norms over the last dimension; weight and bias are vectors or POWER_NO_TENSOR. */
POWER_API power_tensor power_tensor_rms_norm(power_graph_builder *builder, power_tensor x,
                                             power_tensor weight, float eps);
POWER_API power_tensor power_tensor_layer_norm(power_graph_builder *builder, power_tensor x,
                                               power_tensor weight, power_tensor bias, float eps);

/* The same elements in another shape. */
POWER_API power_tensor power_tensor_reshape(power_graph_builder *builder, power_tensor x,
                                            uint32_t rank, const power_graph_dim *dims);
/* Columns [first, first + count) of the last dimension. */
POWER_API power_tensor power_tensor_slice(power_graph_builder *builder, power_tensor x,
                                          int64_t first, int64_t count);
/* Side by side along the last dimension; 2 to 8 tensors. */
POWER_API power_tensor power_tensor_concat(power_graph_builder *builder, const power_tensor *parts,
                                           uint32_t n_parts);

/* Makes a computed tensor an output under a name (copied). */
POWER_API void power_graph_output(power_graph_builder *builder, power_tensor tensor,
                                  const char *name);

/* Compiles for the runtime's device at the maxima of all named dimensions: everything a run needs
 * is allocated here. The builder must outlive the plan and takes no further operators.
 * POWER_INVALID with the first mistake of the builder; POWER_LIMIT when the plan does not fit the
 * runtime's max_memory_bytes (both numbers in the message); POWER_UNSUPPORTED; POWER_NO_MEMORY. */
POWER_API POWER_MUST_USE power_status power_graph_plan_compile(power_graph_builder *builder,
                                                               power_graph_plan **out_plan,
                                                               power_error *error);
/* NULL is allowed. */
POWER_API void power_graph_plan_destroy(power_graph_plan *plan);
/* Bytes that the plan holds: intermediate values, inputs and outputs at the maxima. */
POWER_API uint64_t power_graph_plan_bytes(const power_graph_plan *plan);

typedef struct power_graph_size { /* of a named dimension in a run */
    const char *name;
    int64_t size;
} power_graph_size;
typedef struct power_graph_source { /* an input's elements; borrowed for the run */
    const char *name;
    const float *data;
    size_t n_elements;
} power_graph_source;
typedef struct power_graph_target { /* where an output goes; borrowed for the run */
    const char *name;
    float *data;
    size_t n_elements;
} power_graph_target;

/* Every named dimension, input and output of the graph must be given once; n_elements must be
 * exactly the shape's. Outputs are written only on success. Allocates nothing. A number that is not
 * finite is a result like any other. POWER_INVALID names what is missing or has the wrong size;
 * POWER_LIMIT a dimension out of its range. */
POWER_API POWER_MUST_USE power_status
power_graph_plan_run(power_graph_plan *plan, const power_graph_size *sizes, size_t n_sizes,
                     const power_graph_source *sources, size_t n_sources,
                     const power_graph_target *targets, size_t n_targets, power_error *error);

#ifdef __cplusplus
}
#endif
#endif
