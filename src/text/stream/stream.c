/* SPDX-License-Identifier: MIT */
/* Text of an answer as a client may see it. Input: bytes of tokens. Output: pieces of text.
 * Threads: one a stream. Bounds: what is held is shorter than the longest stop string and one
 * character; the buffer is compacted at each piece. */
#include "text/stream/stream.h"

void power_stream_init(struct power_stream *stream, const power_allocator *allocator,
                       const struct power_vocab *vocab, const struct power_stops *stops,
                       bool show_special, size_t max_bytes) {
    *stream = (struct power_stream){.stops = stops, .stop = POWER_NO_STOP};
    power_detokenizer_init(&stream->detokenizer, vocab, show_special);
    power_buffer_init(&stream->text, allocator, max_bytes);
}

void power_stream_finish(struct power_stream *stream) {
    power_buffer_finish(&stream->text);
}

/* What went out with the last piece is let go. */
static void compact(struct power_stream *stream) {
    size_t held = stream->text.length - stream->n_given;
    if (stream->n_given == 0) return;
    if (held) memmove(stream->text.bytes, stream->text.bytes + stream->n_given, held);
    stream->text.length = held;
    stream->n_searched -= stream->n_given;
    stream->n_given = 0;
}

static size_t waiting_after(const struct power_stream *stream, const unsigned char *bytes,
                            size_t n) {
    uint32_t place = stream->place;
    for (size_t i = 0; i < n; i++)
        place = power_stops_next(stream->stops, place, bytes[i]);
    uint32_t stop = power_stops_ended(stream->stops, place);
    size_t waiting = stop == POWER_NO_STOP ? power_stops_waiting(stream->stops, place)
                                           : power_stops_length(stream->stops, stop);
    return waiting > n ? waiting - n : 0;
}

/* Bytes at the end of the text that a stop string could still begin with. The character that is
 * under way narrows them: it will begin with the bytes held, or become U+FFFD. */
static size_t waiting(const struct power_stream *stream) {
    const struct power_detokenizer *d = &stream->detokenizer;
    if (d->n_held == 0) return power_stops_waiting(stream->stops, stream->place);
    static const unsigned char mark[3] = {0xEF, 0xBF, 0xBD};
    size_t whole = waiting_after(stream, d->held, d->n_held);
    size_t broken = waiting_after(stream, mark, sizeof mark);
    return whole > broken ? whole : broken;
}

/* Looks at the new text; afterwards n_given says how much may go. */
static void search(struct power_stream *stream) {
    if (!stream->stops) {
        stream->n_given = stream->text.length;
        return;
    }
    const char *bytes = stream->text.bytes;
    while (stream->n_searched < stream->text.length) {
        stream->place = power_stops_next(stream->stops, stream->place,
                                         (unsigned char)bytes[stream->n_searched++]);
        uint32_t stop = power_stops_ended(stream->stops, stream->place);
        if (stop == POWER_NO_STOP) continue;
        stream->stop = stop;
        stream->n_given = stream->n_searched - power_stops_length(stream->stops, stop);
        stream->text.length = stream->n_given; /* nothing after it is text */
        return;
    }
    stream->n_given = stream->text.length - waiting(stream);
}

static struct power_text given(const struct power_stream *stream) {
    return (struct power_text){stream->n_given ? stream->text.bytes : "", stream->n_given};
}

power_status power_stream_push(struct power_stream *stream, struct power_text bytes,
                               struct power_text *out, power_error *error) {
    compact(stream);
    size_t before = stream->text.length;
    *out = (struct power_text){"", 0};
    if (stream->stop != POWER_NO_STOP) return POWER_OK;
    power_status status =
        power_detokenizer_push_bytes(&stream->detokenizer, bytes, &stream->text, error);
    if (status != POWER_OK) return status;
    stream->text_bytes += stream->text.length - before;
    search(stream);
    *out = given(stream);
    return POWER_OK;
}

power_status power_stream_flush(struct power_stream *stream, struct power_text *out,
                                power_error *error) {
    compact(stream);
    size_t before = stream->text.length;
    *out = (struct power_text){"", 0};
    if (stream->stop != POWER_NO_STOP) return POWER_OK;
    power_status status = power_detokenizer_finish(&stream->detokenizer, &stream->text, error);
    if (status != POWER_OK) return status;
    stream->text_bytes += stream->text.length - before;
    search(stream);
    if (stream->stop == POWER_NO_STOP) stream->n_given = stream->text.length;
    *out = given(stream);
    return POWER_OK;
}
