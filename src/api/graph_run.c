/* SPDX-License-Identifier: MIT */
/* Plans of a caller's graph: compiled once, run with arrays of the caller.
 * Input: a builder, then sizes, sources and targets. Output: targets. Threads: one at a time.
 * Bounds: device memory for inputs and outputs is taken at compile, at the maxima. */
#include <string.h>

#include "api/graph_api.h"
#include "base/checked.h"

/* An input or output of the graph with its device memory. */
struct port {
    power_value value;
    bool output;
    struct power_device_buffer *buffer;
    size_t n_elements; /* in the run being prepared */
    const float *from;
    float *to;
};

struct power_graph_plan {
    power_graph_builder *builder;
    struct power_plan *plan;
    struct port *ports;
    struct power_binding *bindings;
    uint32_t n_ports;
    uint64_t bytes; /* taken from the runtime's budget */
};

static const struct power_device_ops *ops_of(const power_graph_plan *p) {
    return power_device_base(p->builder->runtime->device)->ops;
}

/* Elements of a value under the dims of a run; false on overflow. */
static bool elements(const struct power_graph_value *v, const int64_t *dims, size_t *out) {
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++) {
        const struct power_dim *d = &v->dims[i];
        int64_t size =
            d->symbol == POWER_SYM_NONE ? d->offset : d->scale * dims[d->symbol] + d->offset;
        if (size < 0 || !power_mul_size(n, (size_t)size, &n)) return false;
    }
    *out = n;
    return true;
}

static power_status take_bytes(power_graph_plan *p, uint64_t bytes, power_error *error) {
    struct power_budget *budget = &p->builder->runtime->budget;
    if (!power_budget_take(budget, bytes))
        return power_fail(error, POWER_LIMIT,
                          "the plan needs %llu bytes more, the runtime has %llu",
                          (unsigned long long)bytes, (unsigned long long)power_budget_left(budget));
    p->bytes += bytes;
    return POWER_OK;
}

static power_status make_ports(power_graph_plan *p, const int64_t *maxima, power_error *error) {
    const struct power_graph *g = p->builder->graph;
    for (power_value i = 1; i < g->n_values; i++) {
        const struct power_graph_value *v = &g->values[i];
        if (!v->is_input && !v->is_output) continue;
        struct port *port = &p->ports[p->n_ports++];
        *port = (struct port){.value = i, .output = v->is_output};
        size_t n, bytes;
        if (!elements(v, maxima, &n) || !power_mul_size(n, sizeof(float), &bytes))
            return power_fail(error, POWER_LIMIT, "\"%s\" is too large at its maxima",
                              power_quote(v->name.bytes, v->name.length).text);
        power_status status = take_bytes(p, bytes, error);
        if (status == POWER_OK)
            status =
                ops_of(p)->buffer_create(p->builder->runtime->device, bytes, &port->buffer, error);
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}

static power_status compile(power_graph_plan *p, power_error *error) {
    power_graph_builder *b = p->builder;
    struct power_plan_limits limits = {.fusion = true};
    for (uint32_t i = 0; i < b->n_dims; i++)
        limits.max_dims[power_named_symbol(i)] = b->dims[i].maximum;
    power_status status =
        ops_of(p)->plan_compile(b->runtime->device, b->graph, &b->table, &limits, &p->plan, error);
    if (status != POWER_OK) return status;
    struct power_plan_info info;
    ops_of(p)->plan_info(p->plan, &info);
    status = take_bytes(p, info.scratch_bytes, error);
    return status == POWER_OK ? make_ports(p, limits.max_dims, error) : status;
}

static uint32_t count_ports(const struct power_graph *g) {
    uint32_t n = 0;
    for (power_value i = 1; i < g->n_values; i++)
        n += g->values[i].is_input || g->values[i].is_output;
    return n;
}

power_status power_graph_plan_compile(power_graph_builder *b, power_graph_plan **out_plan,
                                      power_error *error) {
    if (!b || !out_plan) return power_fail(error, POWER_INVALID, "an argument is NULL");
    power_status status = power_graph_finish(b->graph, error);
    if (status != POWER_OK) return status;
    const power_allocator *allocator = b->runtime->allocator;
    power_graph_plan *p = power_alloc(allocator, 1, sizeof *p);
    if (!p) return power_fail_memory(error, sizeof *p, "a plan");
    uint32_t n = count_ports(b->graph);
    p->builder = b;
    p->ports = power_arena_alloc(&b->graph->arena, n, sizeof *p->ports);
    p->bindings = power_arena_alloc(&b->graph->arena, n, sizeof *p->bindings);
    if (!p->ports || !p->bindings)
        status = power_fail_memory(error, n * sizeof *p->ports, "a plan");
    else
        status = compile(p, error);
    if (status != POWER_OK) {
        power_graph_plan_destroy(p);
        return status;
    }
    b->frozen = true;
    *out_plan = p;
    return POWER_OK;
}

void power_graph_plan_destroy(power_graph_plan *p) {
    if (!p) return;
    struct power_runtime *runtime = p->builder->runtime;
    for (uint32_t i = 0; i < p->n_ports; i++)
        ops_of(p)->buffer_destroy(runtime->device, p->ports[i].buffer);
    if (p->plan) ops_of(p)->plan_destroy(runtime->device, p->plan);
    power_budget_give(&runtime->budget, p->bytes);
    power_release(runtime->allocator, p, 1, sizeof *p);
}

uint64_t power_graph_plan_bytes(const power_graph_plan *plan) {
    return plan ? plan->bytes : 0;
}

/* ---- runs ---- */

static power_status read_sizes(const power_graph_plan *p, const power_graph_size *sizes,
                               size_t n_sizes, int64_t *dims, power_error *error) {
    const power_graph_builder *b = p->builder;
    for (size_t s = 0; s < n_sizes; s++) {
        uint32_t i = 0;
        const char *name = sizes[s].name ? sizes[s].name : "";
        while (i < b->n_dims && strcmp(b->dims[i].name, name) != 0)
            i++;
        struct power_quoted quoted = power_quote(name, strlen(name));
        if (i == b->n_dims || dims[power_named_symbol(i)] != 0)
            return power_fail(error, POWER_INVALID, "dimension \"%s\" is unknown or given twice",
                              quoted.text);
        if (sizes[s].size < 1 || sizes[s].size > b->dims[i].maximum)
            return power_fail(error, POWER_LIMIT, "dimension \"%s\" is %lld, it must be 1 to %lld",
                              quoted.text, (long long)sizes[s].size, (long long)b->dims[i].maximum);
        dims[power_named_symbol(i)] = sizes[s].size;
    }
    for (uint32_t i = 0; i < b->n_dims; i++)
        if (dims[power_named_symbol(i)] == 0)
            return power_fail(error, POWER_INVALID, "dimension \"%s\" is not given",
                              b->dims[i].name);
    return POWER_OK;
}

/* The port that one array of the caller is for, checked and marked as given. */
static power_status give_port(power_graph_plan *p, const char *name, bool output, const float *from,
                              float *to, size_t n_elements, power_error *error) {
    struct power_text text = power_text_of(name ? name : "");
    struct power_quoted quoted = power_quote(text.bytes, text.length);
    for (uint32_t i = 0; i < p->n_ports; i++) {
        struct port *port = &p->ports[i];
        const struct power_graph_value *v = &p->builder->graph->values[port->value];
        if (port->output != output || !power_text_equal(v->name, text)) continue;
        if (port->from || port->to)
            return power_fail(error, POWER_INVALID, "\"%s\" is given twice", quoted.text);
        if (n_elements != port->n_elements || (!from && !to))
            return power_fail(error, POWER_INVALID, "\"%s\" has %zu elements, given are %zu",
                              quoted.text, port->n_elements, from || to ? n_elements : 0);
        port->from = from;
        port->to = to;
        return POWER_OK;
    }
    return power_fail(error, POWER_INVALID, "the graph has no %s \"%s\"",
                      output ? "output" : "input", quoted.text);
}

static power_status size_ports(power_graph_plan *p, const int64_t *dims, power_error *error) {
    for (uint32_t i = 0; i < p->n_ports; i++) {
        struct port *port = &p->ports[i];
        port->from = NULL;
        port->to = NULL;
        if (!elements(&p->builder->graph->values[port->value], dims, &port->n_elements))
            return power_fail(error, POWER_LIMIT, "a shape is too large");
        p->bindings[i] = (struct power_binding){.value = port->value,
                                                .buffer = port->buffer,
                                                .length_bytes = port->n_elements * sizeof(float)};
    }
    return POWER_OK;
}

static power_status move_ports(power_graph_plan *p, bool output, power_error *error) {
    struct power_device *device = p->builder->runtime->device;
    power_status status = POWER_OK;
    for (uint32_t i = 0; i < p->n_ports && status == POWER_OK; i++) {
        struct port *port = &p->ports[i];
        size_t bytes = port->n_elements * sizeof(float);
        if (port->output != output) continue;
        status = output ? ops_of(p)->download(device, port->buffer, 0, port->to, bytes, error)
                        : ops_of(p)->upload(device, port->buffer, 0, port->from, bytes, error);
    }
    return status;
}

static power_status all_given(const power_graph_plan *p, power_error *error) {
    for (uint32_t i = 0; i < p->n_ports; i++) {
        const struct power_graph_value *v = &p->builder->graph->values[p->ports[i].value];
        if (!p->ports[i].from && !p->ports[i].to)
            return power_fail(error, POWER_INVALID, "%s \"%s\" is not given",
                              p->ports[i].output ? "output" : "input",
                              power_quote(v->name.bytes, v->name.length).text);
    }
    return POWER_OK;
}

power_status power_graph_plan_run(power_graph_plan *p, const power_graph_size *sizes,
                                  size_t n_sizes, const power_graph_source *sources,
                                  size_t n_sources, const power_graph_target *targets,
                                  size_t n_targets, power_error *error) {
    if (!p || (n_sizes && !sizes) || (n_sources && !sources) || (n_targets && !targets))
        return power_fail(error, POWER_INVALID, "an argument is NULL");
    struct power_run run = {.bindings = p->bindings, .n_bindings = p->n_ports};
    power_status status = read_sizes(p, sizes, n_sizes, run.dims, error);
    if (status == POWER_OK) status = size_ports(p, run.dims, error);
    for (size_t i = 0; i < n_sources && status == POWER_OK; i++)
        status = give_port(p, sources[i].name, false, sources[i].data, NULL, sources[i].n_elements,
                           error);
    for (size_t i = 0; i < n_targets && status == POWER_OK; i++)
        status = give_port(p, targets[i].name, true, NULL, targets[i].data, targets[i].n_elements,
                           error);
    if (status == POWER_OK) status = all_given(p, error);
    if (status == POWER_OK) status = move_ports(p, false, error);
    struct power_device *device = p->builder->runtime->device;
    if (status == POWER_OK) status = ops_of(p)->submit(device, p->plan, &run, error);
    if (status == POWER_OK) status = ops_of(p)->wait(device, error);
    return status == POWER_OK ? move_ports(p, true, error) : status;
}
