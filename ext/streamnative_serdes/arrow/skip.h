/* Skips neighbouring values by a program of steps: one for a value, and for the bytes of fixed size behind it.
 *
 * A step knows the usual encodings only: text of up to 63 bytes, numbers in few bytes, unions of null and such a leaf.
 * Where it meets another one, the program stops, and skip.pyx looks at that value in full.
 */
#ifndef STREAMNATIVE_SERDES_SKIP_H
#define STREAMNATIVE_SERDES_SKIP_H

#include "codec/wire.h"

enum sns_skip_kind {
    SKIP_END,
    SKIP_FULLY, /* in full: containers, and unions of other types than null and a leaf */
    SKIP_FIXED,
    SKIP_TEXT, /* text or bytes */
    SKIP_NUMBER,
    SKIP_BYTE, /* a boolean, or the index of a symbol */
    SKIP_OPTIONAL_FIXED, /* the same in a union with null, in the same order */
    SKIP_OPTIONAL_TEXT,
    SKIP_OPTIONAL_NUMBER,
    SKIP_OPTIONAL_BYTE
};

struct sns_skip {
    uint8_t kind;
    uint8_t null; /* optional: the byte of the null branch */
    uint8_t bits, most; /* BYTE: bits that must be 0; the byte is below */
    uint32_t size; /* OPTIONAL_FIXED */
    int64_t after; /* bytes behind it of fixed size, and those of the value that are always there */
    uint64_t ends; /* NUMBER: the first bit of each byte that may be its last */
    int32_t first, count; /* the fields that it skips */
};

/* How far a program came: the next value, and the step for it. */
struct sns_skipped {
    const uint8_t *p;
    const struct sns_skip *skip;
};

enum { SNS_SKIP_REACH = 66 }; /* bytes that a step looks at, or skips besides those of fixed size; or fewer */

static inline uint64_t sns_word_le(const uint8_t *p) { uint64_t word; sns_put_le((uint8_t *)&word, p, 8); return word; }

/* The bytes before the first one, from the least significant on, with a bit that is set; there has to be one. */
static inline uint64_t sns_bytes_before(uint64_t word) { return (uint64_t)sns_first_bit(word) >> 3; }

#define SNS_THERE ((uint64_t)(p[0] == skip->null) - 1) /* all bits, or none */
#define SNS_NO_BRANCH (p[0] & ~2) /* neither the first nor the second */

/* Bytes of the value at ``p`` besides those in ``after``; -1 for an unusual encoding, damage, and what is skipped in full.
 * ``kind`` is that of the step. Needs SNS_SKIP_REACH readable bytes; skip_steps.h knows which kinds need fewer. An optional
 * value has no branch for which of the two it is: half of the guesses would be wrong.
 */
static inline int64_t sns_step_size(const struct sns_skip *skip, int kind, const uint8_t *p) {
    uint64_t there, last;
    switch (kind) {
    case SKIP_FIXED:
        return 0;
    case SKIP_TEXT:
        return p[0] & 0x81 ? -1 : p[0] >> 1;
    case SKIP_NUMBER:
        last = ~sns_word_le(p) & skip->ends;
        return last ? (int64_t)sns_bytes_before(last) : -1;
    case SKIP_BYTE:
        return (p[0] & skip->bits) || p[0] >= skip->most ? -1 : 0;
    case SKIP_OPTIONAL_FIXED:
        return SNS_NO_BRANCH ? -1 : (int64_t)(SNS_THERE & skip->size);
    case SKIP_OPTIONAL_TEXT:
        there = SNS_THERE;
        return SNS_NO_BRANCH | (p[1] & 0x81 & there) ? -1 : (int64_t)(there & (1 + (p[1] >> 1)));
    case SKIP_OPTIONAL_NUMBER:
        there = SNS_THERE;
        last = (~sns_word_le(p + 1) & skip->ends) | ~there;
        return SNS_NO_BRANCH || !last ? -1 : (int64_t)(there & (1 + sns_bytes_before(last)));
    case SKIP_OPTIONAL_BYTE:
        there = SNS_THERE;
        return SNS_NO_BRANCH | (p[1] & skip->bits & there) || (p[1] & there) >= skip->most ? -1 : (int64_t)(there & 1);
    }
    return -1;
}

#undef SNS_THERE
#undef SNS_NO_BRANCH

/* A step ends with a jump of its own, so that the processor learns what follows each: half the time of a common one. */
#if defined(__GNUC__) || defined(__clang__)
#define SNS_STEPS_BEGIN \
    static const void *const labels[] = {&&stop, &&stop, &&fixed, &&text, &&number, &&byte, &&optional_fixed, \
                                         &&optional_text, &&optional_number, &&optional_byte}; \
    goto *labels[skip->kind];
#define SNS_STEP(label, kind) label:
#define SNS_NEXT goto *labels[skip->kind]
#define SNS_STEPS_END
#else
#define SNS_STEPS_BEGIN again: switch (skip->kind) {
#define SNS_STEP(label, kind) case kind:
#define SNS_NEXT goto again
#define SNS_STEPS_END default: goto stop; }
#endif

#define SNS_SKIP_VALUE(kind) { size = sns_step_size(skip, kind, p); if (SNS_LIKELY(size >= 0)) SNS_SKIP(size) }

/* Needs that all that the steps may look at can be read. The end may be behind that of the message. */
#define SNS_STEPS sns_skip_freely
#define SNS_READABLE(n) 1
#define SNS_SKIP(n) { p = p + skip->after + (n); skip++; SNS_NEXT; }
#include "arrow/skip_steps.h"

/* Compares each step with the end of the message; up to ``limit``, bytes can be read. */
#define SNS_STEPS sns_skip_within
#define SNS_READABLE(n) SNS_LIKELY(limit - p >= (n))
#define SNS_SKIP(n) { const int64_t whole = skip->after + (int64_t)(n); if (SNS_UNLIKELY(whole > end - p)) goto stop; p += whole; skip++; SNS_NEXT; }
#include "arrow/skip_steps.h"

#endif
