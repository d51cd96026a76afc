/* SPDX-License-Identifier: MIT */
/* Stop strings: where in a text the first of several ends, and how much of it could still become
 * one. Input: the strings, then a text byte by byte. Output: an immutable automaton (Aho, Corasick:
 * "Efficient string matching", CACM 18, 1975), places in it.
 * Threads: an automaton any; a place is a plain number. Bounds: POWER_MAX_STOPS strings of
 * POWER_MAX_STOP_BYTES bytes together; linear time in strings and text, 20 bytes a byte at most. */
#ifndef POWER_TEXT_STOPS_H
#define POWER_TEXT_STOPS_H

#include "base/memory.h"
#include "base/span.h"

#define POWER_MAX_STOPS 4096u
#define POWER_MAX_STOP_BYTES ((size_t)4 << 20)
#define POWER_NO_STOP UINT32_MAX

struct power_stops; /* opaque */

/* The strings are copied. POWER_INVALID for an empty one, POWER_LIMIT with both numbers. */
power_status power_stops_create(const power_allocator *allocator, const struct power_text *stops,
                                size_t n_stops, struct power_stops **out,
                                power_error *error) POWER_MUST_USE;
/* NULL is allowed. */
void power_stops_destroy(struct power_stops *stops);

/* The place before any text is 0. The place after one more byte: */
uint32_t power_stops_next(const struct power_stops *stops, uint32_t place, unsigned char byte);
/* How many of the last bytes could still become a stop string before another ends: exactly these
 * have to wait. Not asked where one has ended. */
uint32_t power_stops_waiting(const struct power_stops *stops, uint32_t place);
/* The longest string that ends here, the first given of equal ones, or POWER_NO_STOP. */
uint32_t power_stops_ended(const struct power_stops *stops, uint32_t place);
size_t power_stops_length(const struct power_stops *stops, uint32_t stop);

#endif
