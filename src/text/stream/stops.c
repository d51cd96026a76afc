/* SPDX-License-Identifier: MIT */
/* Stop strings as one automaton. Input: strings. Output: a trie in breadth-first order, so that the
 * children of a node lie side by side, sorted; each node with the longest proper suffix that is a
 * node too. Threads: making one belongs to one thread. Bounds: a node a byte at most. */
#include "text/stream/stops.h"

#include <stdlib.h>

#include "base/checked.h"

struct stop_node {
    uint32_t first_child; /* while it waits to be opened: the first of its strings, sorted */
    uint32_t fallback;    /* longest proper suffix that is a node */
    uint32_t ended;       /* POWER_NO_STOP, or the longest string that is a suffix */
    uint32_t depth;       /* once all is built: how much has to wait here */
    uint16_t n_children;  /* while it waits: how many strings go through it */
    unsigned char byte;
};

struct stop_text {
    struct power_text text;
    uint32_t index;
};

struct power_stops {
    const power_allocator *allocator;
    struct stop_text *sorted; /* [n_stops] */
    size_t *lengths;          /* [n_stops] by index */
    size_t n_stops;
    char *bytes; /* [n_bytes] */
    size_t n_bytes;
    struct stop_node *nodes; /* [n_nodes] */
    uint32_t n_nodes, capacity;
};

static int by_text(const void *a, const void *b) {
    const struct stop_text *x = a, *y = b;
    size_t n = x->text.length < y->text.length ? x->text.length : y->text.length;
    int order = memcmp(x->text.bytes, y->text.bytes, n);
    if (order) return order;
    if (x->text.length != y->text.length) return x->text.length < y->text.length ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static power_status measure(const struct power_text *stops, size_t n_stops, size_t *out_bytes,
                            power_error *error) {
    size_t bytes = 0;
    if (n_stops > POWER_MAX_STOPS) {
        return power_fail(error, POWER_LIMIT, "%zu stop strings, at most %u are taken", n_stops,
                          POWER_MAX_STOPS);
    }
    for (size_t i = 0; i < n_stops; i++) {
        if (stops[i].length == 0) {
            return power_fail(error, POWER_INVALID, "stop string %zu is empty", i);
        }
        if (stops[i].length > POWER_MAX_STOP_BYTES - bytes) {
            return power_fail(error, POWER_LIMIT,
                              "stop strings have more than %zu bytes together, by number %zu",
                              POWER_MAX_STOP_BYTES, i);
        }
        bytes += stops[i].length;
    }
    *out_bytes = bytes;
    return POWER_OK;
}

static power_status copy_texts(struct power_stops *s, const struct power_text *stops,
                               power_error *error) {
    const power_allocator *a = s->allocator;
    s->sorted = power_alloc(a, s->n_stops, sizeof *s->sorted);
    s->lengths = power_alloc(a, s->n_stops, sizeof *s->lengths);
    s->bytes = power_alloc(a, s->n_bytes, 1);
    if (!s->sorted || !s->lengths || !s->bytes) {
        return power_fail_memory(error, s->n_bytes, "stop strings");
    }
    size_t at = 0;
    for (size_t i = 0; i < s->n_stops; i++) {
        memcpy(s->bytes + at, stops[i].bytes, stops[i].length);
        s->sorted[i] = (struct stop_text){{s->bytes + at, stops[i].length}, (uint32_t)i};
        s->lengths[i] = stops[i].length;
        at += stops[i].length;
    }
    qsort(s->sorted, s->n_stops, sizeof *s->sorted, by_text);
    return POWER_OK;
}

/* Nodes that the trie of the sorted strings has: what of each string the one before does not share.
 */
static uint32_t count_nodes(const struct power_stops *s) {
    size_t n = 1;
    for (size_t i = 0; i < s->n_stops; i++) {
        struct power_text text = s->sorted[i].text;
        size_t shared = 0, most = i ? s->sorted[i - 1].text.length : 0;
        while (shared < most && shared < text.length &&
               s->sorted[i - 1].text.bytes[shared] == text.bytes[shared])
            shared++;
        n += text.length - shared;
    }
    return (uint32_t)n; /* POWER_MAX_STOP_BYTES + 1 at most */
}

static const struct stop_node *child_of(const struct power_stops *s, const struct stop_node *node,
                                        unsigned char byte) {
    const struct stop_node *children = s->nodes + node->first_child;
    uint32_t low = 0, high = node->n_children;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (children[middle].byte < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < node->n_children && children[low].byte == byte ? children + low : NULL;
}

uint32_t power_stops_next(const struct power_stops *s, uint32_t place, unsigned char byte) {
    for (;;) {
        const struct stop_node *node = &s->nodes[place];
        const struct stop_node *child = child_of(s, node, byte);
        if (child) return (uint32_t)(child - s->nodes);
        if (place == 0) return 0;
        place = node->fallback;
    }
}

/* A child of `parent`, whose strings are [first, first + n) of the sorted ones. Every node above it
 * is open already, so its suffixes can be followed. */
static void add_child(struct power_stops *s, uint32_t parent, uint32_t first, uint32_t n) {
    const struct stop_node *up = &s->nodes[parent];
    struct power_text text = s->sorted[first].text;
    unsigned char byte = (unsigned char)text.bytes[up->depth];
    uint32_t fallback = parent ? power_stops_next(s, up->fallback, byte) : 0;
    bool whole = text.length == (size_t)up->depth + 1; /* the shortest is the first */
    s->nodes[s->n_nodes++] =
        (struct stop_node){.first_child = first,
                           .n_children = (uint16_t)n,
                           .fallback = fallback,
                           .ended = whole ? s->sorted[first].index : s->nodes[fallback].ended,
                           .depth = up->depth + 1,
                           .byte = byte};
}

/* Its children are told from its strings; `ended` of suffixes stands, as they are less deep. */
static void open_node(struct power_stops *s, uint32_t at) {
    struct stop_node *node = &s->nodes[at];
    uint32_t first = node->first_child, end = first + node->n_children, depth = node->depth;
    while (first < end && s->sorted[first].text.length == depth)
        first++; /* ends here */
    uint32_t first_node = s->n_nodes;
    node->n_children = 0; /* nothing is found below while it is opened */
    while (first < end) {
        uint32_t next = first + 1;
        char byte = s->sorted[first].text.bytes[depth];
        while (next < end && s->sorted[next].text.bytes[depth] == byte)
            next++;
        add_child(s, at, first, next - first);
        first = next;
    }
    node->first_child = first_node;
    node->n_children = (uint16_t)(s->n_nodes - first_node);
}

#define HOPEFUL 0x80000000u

static bool is_whole(const struct power_stops *s, const struct stop_node *node) {
    return node->ended != POWER_NO_STOP && s->lengths[node->ended] == (node->depth & ~HOPEFUL);
}

/* A node is hopeful where a string can still be completed through it before another, which lies
 * inside that string, has ended. From the leaves up; then, from the root down, what waits at a node
 * is itself or its longest hopeful suffix. */
static void find_waiting(struct power_stops *s) {
    for (uint32_t at = s->n_nodes; at-- > 0;) {
        struct stop_node *node = &s->nodes[at];
        for (uint32_t i = 0; i < node->n_children; i++) {
            const struct stop_node *child = &s->nodes[node->first_child + i];
            bool free = child->ended == POWER_NO_STOP && child->depth & HOPEFUL;
            if (free || is_whole(s, child)) node->depth |= HOPEFUL;
        }
    }
    for (uint32_t at = 0; at < s->n_nodes; at++) {
        struct stop_node *node = &s->nodes[at];
        bool hopeful = node->depth & HOPEFUL;
        node->depth = hopeful ? node->depth & ~HOPEFUL : s->nodes[node->fallback].depth;
    }
}

static power_status build(struct power_stops *s, power_error *error) {
    s->capacity = count_nodes(s);
    s->nodes = power_alloc(s->allocator, s->capacity, sizeof *s->nodes);
    if (!s->nodes) {
        return power_fail_memory(error, s->capacity * sizeof *s->nodes, "stop strings");
    }
    s->nodes[0] = (struct stop_node){.n_children = (uint16_t)s->n_stops, .ended = POWER_NO_STOP};
    s->n_nodes = 1;
    for (uint32_t at = 0; at < s->n_nodes; at++)
        open_node(s, at);
    find_waiting(s);
    return POWER_OK;
}

power_status power_stops_create(const power_allocator *allocator, const struct power_text *stops,
                                size_t n_stops, struct power_stops **out, power_error *error) {
    size_t bytes = 0;
    power_status status = measure(stops, n_stops, &bytes, error);
    if (status != POWER_OK) return status;
    struct power_stops *s = power_alloc(allocator, 1, sizeof *s);
    if (!s) return power_fail_memory(error, sizeof *s, "stop strings");
    s->allocator = allocator;
    s->n_stops = n_stops;
    s->n_bytes = bytes;
    if (n_stops) status = copy_texts(s, stops, error);
    if (status == POWER_OK) status = build(s, error);
    if (status != POWER_OK) {
        power_stops_destroy(s);
        return status;
    }
    *out = s;
    return POWER_OK;
}

void power_stops_destroy(struct power_stops *s) {
    if (!s) return;
    const power_allocator *a = s->allocator;
    power_release(a, s->sorted, s->n_stops, sizeof *s->sorted);
    power_release(a, s->lengths, s->n_stops, sizeof *s->lengths);
    power_release(a, s->bytes, s->n_bytes, 1);
    power_release(a, s->nodes, s->capacity, sizeof *s->nodes);
    power_release(a, s, 1, sizeof *s);
}

uint32_t power_stops_waiting(const struct power_stops *s, uint32_t place) {
    return s->nodes[place].depth;
}

uint32_t power_stops_ended(const struct power_stops *s, uint32_t place) {
    return s->nodes[place].ended;
}

size_t power_stops_length(const struct power_stops *s, uint32_t stop) {
    return s->lengths[stop];
}
