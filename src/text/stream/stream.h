/* SPDX-License-Identifier: MIT */
/* The stage between tokens and a client's text: whole characters only, cut where a stop string
 * begins.
 * Input: the ids of an answer, or their bytes. Output: text that is certain, in pieces.
 * Threads: one a stream. Bounds: it holds back an unfinished character and exactly what a stop
 * string could still match; time is linear. */
#ifndef POWER_TEXT_STREAM_H
#define POWER_TEXT_STREAM_H

#include "text/stream/stops.h"
#include "text/vocab.h"

struct power_stream {
    struct power_detokenizer detokenizer;
    const struct power_stops *stops; /* borrowed; NULL: none */
    struct power_buffer text;        /* what is held, then what is new */
    size_t n_searched;               /* bytes of `text` that `place` has seen */
    size_t n_given;                  /* bytes of `text` that went out with the last piece */
    uint32_t place;
    uint32_t stop;       /* POWER_NO_STOP until a stop string came */
    uint64_t text_bytes; /* characters so far, held ones included, a stop string too */
};

/* `vocab` may be NULL where only bytes are pushed. `max_bytes` bounds one piece. */
void power_stream_init(struct power_stream *stream, const power_allocator *allocator,
                       const struct power_vocab *vocab, const struct power_stops *stops,
                       bool show_special, size_t max_bytes);
void power_stream_finish(struct power_stream *stream);

/* *out: text that may go out now, perhaps none, borrowed until the next call. Once a stop string
 * came (stream->stop), what stood before it is the last piece and further tokens give none. */
power_status power_stream_push(struct power_stream *stream, struct power_text bytes,
                               struct power_text *out, power_error *error) POWER_MUST_USE;
/* The answer is over: what was held comes out, an unfinished character as U+FFFD. That may still
 * complete a stop string. */
power_status power_stream_flush(struct power_stream *stream, struct power_text *out,
                                power_error *error) POWER_MUST_USE;

#endif
