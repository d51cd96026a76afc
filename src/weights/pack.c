/* SPDX-License-Identifier: MIT */
/* Packing: the weights of a batch brought to the layout of their kernels by several threads.
 * Input: entries placed on the device with room for their pack. Output: packed buffers.
 * Threads: the caller and options.threads - 1 helpers that share one counter.
 * Bounds: no memory but the thread handles. */
#include "weights/weights_internal.h"

#include <stdatomic.h>

#define MAX_THREADS 64u
#define UNITS_A_SHARE 8u

struct packing {
    struct power_weights *weights;
    uint32_t first, end;
    _Atomic(uint64_t) next; /* share number over all entries */
    _Atomic(int) status;
    power_error error; /* of the thread that failed first */
};

/* Share number -> entry and its units. */
static bool find_share(const struct packing *p, uint64_t share, uint32_t *out_entry,
                       uint64_t *out_first, uint64_t *out_count) {
    for (uint32_t i = p->first; i < p->end; i++) {
        const struct power_weight_entry *e = &p->weights->entries[i];
        if (!p->weights->table.weights[i].packed_recipe) continue;
        uint64_t shares = (e->pack_units + UNITS_A_SHARE - 1) / UNITS_A_SHARE;
        if (share < shares) {
            *out_entry = i;
            *out_first = share * UNITS_A_SHARE;
            uint64_t left = e->pack_units - *out_first;
            *out_count = left < UNITS_A_SHARE ? left : UNITS_A_SHARE;
            return true;
        }
        share -= shares;
    }
    return false;
}

static void pack_shares(void *argument) {
    struct packing *p = argument;
    const struct power_device_ops *ops = power_device_base(p->weights->device)->ops;
    uint32_t entry;
    uint64_t first, count;
    while (!atomic_load(&p->status) &&
           find_share(p, atomic_fetch_add(&p->next, 1), &entry, &first, &count)) {
        power_error error = {0};
        power_status status =
            ops->pack(p->weights->device, &p->weights->table.weights[entry],
                      p->weights->entries[entry].bytes.bytes, first, count, &error);
        int expected = POWER_OK;
        if (status && atomic_compare_exchange_strong(&p->status, &expected, (int)status)) {
            p->error = error;
        }
    }
}

power_status power_weights_pack(struct power_weights *w, uint32_t first, uint32_t end,
                                power_error *error) {
    struct packing p = {.weights = w, .first = first, .end = end};
    struct power_thread *threads[MAX_THREADS] = {0};
    uint32_t n = 0, wanted = w->options.threads > MAX_THREADS ? MAX_THREADS : w->options.threads;
    bool any = false;
    for (uint32_t i = first; i < end && !any; i++)
        any = w->table.weights[i].packed_recipe != 0;
    if (!any) return POWER_OK;
    /* A helper that cannot start only makes it slower. */
    while (n + 1 < wanted &&
           !power_thread_start(&threads[n], w->allocator, "power-pack", pack_shares, &p, NULL)) {
        n++;
    }
    pack_shares(&p);
    for (uint32_t i = 0; i < n; i++)
        power_thread_join(threads[i]);
    power_status status = (power_status)atomic_load(&p.status);
    if (status && error) *error = p.error;
    return status;
}
