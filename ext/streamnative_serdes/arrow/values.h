/* Text, UUIDs, 128-bit decimals and symbol tables in C, for Arrow. No function here can run Python code. */
#ifndef STREAMNATIVE_SERDES_ARROW_VALUES_H
#define STREAMNATIVE_SERDES_ARROW_VALUES_H

#include <stdlib.h>

#include "../codec/wire.h"

/* Prefetch memory that is read again after a hundred other columns. */
#if defined(__GNUC__) || defined(__clang__)
#define SNS_PREFETCH(p) __builtin_prefetch(p)
#else
#define SNS_PREFETCH(p) ((void)(p))
#endif

/* --- bits and varints ------------------------------------------------------------------------------------------------ */

static inline int sns_count_bits(uint64_t n) {
    n -= n >> 1 & UINT64_C(0x5555555555555555);
    n = (n & UINT64_C(0x3333333333333333)) + (n >> 2 & UINT64_C(0x3333333333333333));
    return (int)(((n + (n >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56);
}

/* In a build with sanitizers: end the process if one of ``count`` rows has left its room. They do not see that by
 * themselves, as all rows are in one allocation.
 */
static inline void sns_check_rooms(uint8_t *const *p, uint8_t *const *end, int count, int64_t left) {
#if defined(__SANITIZE_ADDRESS__)
    int k;
    for (k = 0; k < count; k++) if (p[k] > end[k] - left) abort();
#else
    (void)p, (void)end, (void)count, (void)left;
#endif
}

/* Write a varint and return its size. Writes 10 bytes, whatever the number is, and has one branch. */
static inline int sns_put_wide_varint(uint8_t *p, uint64_t n) {
#ifdef SNS_WORDS
    if (SNS_LIKELY(n >> 56 == 0)) { /* up to 8 bytes, 7 bits each */
        int more = (37 * (63 - __builtin_clzll(n | 1))) >> 8; /* the highest bit, divided by 7 */
        n = (n & UINT64_C(0x0fffffff)) | (n & UINT64_C(0x00fffffff0000000)) << 4;
        n = (n & UINT64_C(0x00003fff00003fff)) | (n & UINT64_C(0x0fffc0000fffc000)) << 2;
        n = (n & UINT64_C(0x007f007f007f007f)) | (n & UINT64_C(0x3f803f803f803f80)) << 1;
        n |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << 8 * more) - 1);
        memcpy(p, &n, 8);
        return more + 1;
    }
#endif
    return (int)(sns_put_varint(p, n) - p);
}

/* How many of n bytes at ``p`` are those at ``same``, up to the first that is not. Reads 8 at a time, none from ``limit`` on
 * at ``p``, and up to 7 more than n at ``same``.
 */
static inline int sns_same_until(const uint8_t *p, const uint8_t *limit, const uint8_t *same, int n) {
    int i = 0;
    while (i < n && limit - p >= i + 8) {
        uint64_t odd = 0, a, b;
        sns_put_le((uint8_t *)&a, p + i, 8);
        sns_put_le((uint8_t *)&b, same + i, 8);
        odd = a ^ b;
        if (odd) {
            i += sns_first_bit(odd) >> 3;
            return i < n ? i : n;
        }
        i += 8;
    }
    while (i < n && limit - p > i && p[i] == same[i]) i++;
    return i < n ? i : n;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static inline int sns_is_tail(const uint8_t *p, int n) { /* n bytes of 10xxxxxx */
    while (n--) if ((*p++ & 0xC0) != 0x80) return 0;
    return 1;
}

/* Strict UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF. */
static SNS_NOINLINE int sns_check_utf8(const uint8_t *p, Py_ssize_t n) {
    const uint8_t *end = p + n;
    while (p < end) {
        uint8_t c = *p++;
        int more;
        if (c < 0x80) continue;
        if (c < 0xC2 || c > 0xF4) return 0;
        more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        if (end - p < more || !sns_is_tail(p, more)) return 0;
        if ((c == 0xE0 && *p < 0xA0) || (c == 0xED && *p > 0x9F)) return 0;
        if ((c == 0xF0 && *p < 0x90) || (c == 0xF4 && *p > 0x8F)) return 0;
        p += more;
    }
    return 1;
}

/* Copy n > 32 bytes, and return whether all are ASCII. One loop takes less time than memcpy alone. */
static SNS_NOINLINE int sns_copy_ascii(uint8_t *to, const uint8_t *from, Py_ssize_t n) {
#if defined(SNS_SSE2)
    __m128i any[4], text[4];
    Py_ssize_t i;
    int k;
    if (n < 64) { /* the first and the last 32 bytes */
        for (k = 0; k < 4; k++) any[k] = _mm_loadu_si128((const __m128i *)(from + (k < 2 ? 0 : n - 64) + 16 * k));
        for (k = 0; k < 4; k++) _mm_storeu_si128((__m128i *)(to + (k < 2 ? 0 : n - 64) + 16 * k), any[k]);
    } else {
        for (k = 0; k < 4; k++) any[k] = _mm_setzero_si128();
        for (i = 0;; i += 64) {
            if (i > n - 64) i = n - 64; /* the last 64 bytes, some of them once more */
            for (k = 0; k < 4; k++) {
                text[k] = _mm_loadu_si128((const __m128i *)(from + i + 16 * k));
                _mm_storeu_si128((__m128i *)(to + i + 16 * k), text[k]);
                any[k] = _mm_or_si128(any[k], text[k]);
            }
            if (i == n - 64) break;
        }
    }
    return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(any[0], any[1]), _mm_or_si128(any[2], any[3]))) == 0;
#else
    memcpy(to, from, (size_t)n);
    return sns_is_ascii(from, n);
#endif
}

/* The same as sns_copy_short, for n < 64: reads and writes 64 bytes. */
enum { SNS_MEDIUM = 64 };
static inline int sns_copy_medium(uint8_t *to, const uint8_t *from, Py_ssize_t n) {
#if defined(SNS_SSE2)
    uint64_t odd = 0;
    int k;
    for (k = 0; k < 4; k++) {
        __m128i text = _mm_loadu_si128((const __m128i *)(from + 16 * k));
        odd |= (uint64_t)(uint32_t)_mm_movemask_epi8(text) << (16 * k);
        _mm_storeu_si128((__m128i *)(to + 16 * k), text);
    }
    return (odd & ((UINT64_C(1) << n) - 1)) == 0;
#else
    int low = sns_copy_short(to, from, n < SNS_SHORT ? n : SNS_SHORT);
    return sns_copy_short(to + SNS_SHORT, from + SNS_SHORT, n < SNS_SHORT ? 0 : n - SNS_SHORT) & low;
#endif
}

/* Copy n bytes, and return whether they are valid UTF-8. */
static inline int sns_copy_utf8(uint8_t *to, const uint8_t *from, Py_ssize_t n) {
    if (n > SNS_SHORT) return SNS_LIKELY(sns_copy_ascii(to, from, n)) || sns_check_utf8(from, n);
    sns_copy(to, from, n);
    return sns_is_ascii(from, n) || sns_check_utf8(from, n);
}

static inline int sns_is_utf8(const uint8_t *p, Py_ssize_t n) { return sns_is_ascii(p, n) || sns_check_utf8(p, n); }

/* Copy 36 characters in lower case; 0 if they are not in the usual form. */
static inline int sns_copy_uuid(uint8_t *to, const uint8_t *text) {
#if defined(SNS_SSE2)
    static const int starts[3] = {0, 16, 20}, dashes[3] = {0x2100, 0x0084, 0x0008};
    const __m128i nine = _mm_set1_epi8(9), five = _mm_set1_epi8(5), bit = _mm_set1_epi8(0x20);
    int i, odd = 0;
    for (i = 0; i < 3; i++) {
        __m128i c = _mm_loadu_si128((const __m128i *)(text + starts[i])), lower = _mm_or_si128(c, bit);
        __m128i digit = _mm_sub_epi8(c, _mm_set1_epi8('0')), letter = _mm_sub_epi8(lower, _mm_set1_epi8('a'));
        __m128i hex = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, nine), digit),
                                   _mm_cmpeq_epi8(_mm_min_epu8(letter, five), letter));
        int dash = _mm_movemask_epi8(_mm_cmpeq_epi8(c, _mm_set1_epi8('-')));
        odd |= (_mm_movemask_epi8(hex) ^ 0xffff ^ dashes[i]) | (dash ^ dashes[i]);
        _mm_storeu_si128((__m128i *)(to + starts[i]), lower);
    }
    return odd == 0;
#else
    uint8_t bytes[16];
    if (!sns_parse_uuid(bytes, text)) return 0;
    sns_put_uuid(to, bytes);
    return 1;
#endif
}

/* --- whole numbers of 128 bits, two's complement ------------------------------------------------------------------ */

typedef struct {
    uint64_t low;
    uint64_t high;
} sns_int128;

/* The same number as of sns_get_signed, whose 8 bytes can be read. */
static inline int64_t sns_get_signed_word(const uint8_t *p, int size) {
#if defined(SNS_WORDS) && (defined(__GNUC__) || defined(__clang__))
    uint64_t word;
    memcpy(&word, p, 8);
    return (int64_t)__builtin_bswap64(word) >> (64 - 8 * size);
#else
    return sns_get_signed(p, size);
#endif
}

/* Read a big-endian number of n > 0 bytes; 0 if it needs more than 128 bits. */
static inline int sns_get_int128(const uint8_t *p, Py_ssize_t n, sns_int128 *out) {
    uint64_t sign = (uint64_t)0 - (p[0] >> 7);
    if (n <= 8) {
        out->low = (uint64_t)sns_get_signed(p, (int)n);
        out->high = sign;
        return 1;
    }
    for (; n > 16; n--) if (*p++ != (uint8_t)sign) return 0;
    if (((uint64_t)0 - (p[0] >> 7)) != sign) return 0;
    out->low = out->high = sign;
    while (n--) {
        out->high = out->high << 8 | out->low >> 56;
        out->low = out->low << 8 | *p++;
    }
    return 1;
}

/* Whether the number lies between -limit and limit, both excluded. */
static inline int sns_within(sns_int128 v, sns_int128 limit) {
    if (v.high >> 63) {
        v.low = ~v.low + 1;
        v.high = ~v.high + (v.low == 0);
    }
    return v.high < limit.high || (v.high == limit.high && v.low < limit.low);
}

/* Store in Arrow's format: 16 bytes in native byte order. */
static inline void sns_put_int128(uint8_t *p, sns_int128 v) {
    memcpy(p + 8 * SNS_SWAP, &v.low, 8);
    memcpy(p + 8 * !SNS_SWAP, &v.high, 8);
}

static inline sns_int128 sns_load_int128(const uint8_t *p) {
    sns_int128 v;
    memcpy(&v.low, p + 8 * SNS_SWAP, 8);
    memcpy(&v.high, p + 8 * !SNS_SWAP, 8);
    return v;
}

/* Size in bytes in two's complement, at least 1. */
static inline int sns_int128_size(sns_int128 v) {
    uint64_t sign = (uint64_t)0 - (v.high >> 63), rest;
    int size;
    if (v.high == sign && (v.low ^ sign) >> 63 == 0) {
        rest = v.low ^ sign;
        size = 1;
    } else if (v.high == sign) return 9;
    else {
        rest = v.high ^ sign;
        size = 9;
    }
    for (; rest >= 0x80; rest >>= 8) size++;
    return size;
}

static inline void sns_put_big_endian(uint8_t *p, sns_int128 v, Py_ssize_t n) {
    uint8_t sign = v.high >> 63 ? 0xFF : 0;
    for (; n > 16; n--) *p++ = sign;
    while (n--) *p++ = (uint8_t)(n < 8 ? v.low >> (8 * n) : v.high >> (8 * (n - 8)));
}

/* Write a number of 64 bits as short as it goes, and return its size. Writes 8 bytes, whatever that is. */
static inline int sns_put_short_big_endian(uint8_t *p, int64_t v) {
#ifdef SNS_WORDS
    uint64_t word = (uint64_t)(v ^ (v >> 63)) << 1 | 1;
    int size = (71 - __builtin_clzll(word)) >> 3; /* the sign takes a bit too */
    word = __builtin_bswap64((uint64_t)v << (64 - 8 * size));
    memcpy(p, &word, 8);
    return size;
#else
    sns_int128 wide;
    wide.low = (uint64_t)v, wide.high = v < 0 ? ~(uint64_t)0 : 0;
    sns_put_big_endian(p, wide, sns_int128_size(wide));
    return sns_int128_size(wide);
#endif
}

/* Multiply by 10 ** places; 0 if the result has more than 38 digits. */
static inline int sns_shift_left(sns_int128 *v, int places, const sns_int128 *tens) {
    if (places > 38 || !sns_within(*v, tens[38 - places])) return 0;
    while (places--) { /* 8 * v + 2 * v */
        uint64_t high = v->high << 3 | v->low >> 61, low = v->low << 3;
        high += (v->high << 1 | v->low >> 63);
        v->low = low + (v->low << 1);
        v->high = high + (v->low < low);
    }
    return 1;
}

/* Divide by 10 ** places; 0 if there is a remainder. */
static inline int sns_shift_right(sns_int128 *v, int places) {
    uint64_t sign = (uint64_t)0 - (v->high >> 63);
    uint32_t limbs[4];
    int i;
    v->low = (v->low ^ sign) - sign;
    v->high = (v->high ^ sign) + (sign && v->low == 0);
    for (; places > 0 && (v->low | v->high); places--) {
        uint64_t rest = 0;
        limbs[0] = (uint32_t)(v->high >> 32), limbs[1] = (uint32_t)v->high;
        limbs[2] = (uint32_t)(v->low >> 32), limbs[3] = (uint32_t)v->low;
        for (i = 0; i < 4; i++) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        if (rest) return 0;
        v->high = (uint64_t)limbs[0] << 32 | limbs[1];
        v->low = (uint64_t)limbs[2] << 32 | limbs[3];
    }
    v->low = (v->low ^ sign) - sign;
    v->high = (v->high ^ sign) + (sign && v->low == 0);
    return 1;
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

static inline uint64_t sns_mix(uint64_t hash, uint64_t word) { return (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15); }

static inline uint32_t sns_hash(const uint8_t *p, Py_ssize_t n) {
    uint64_t hash = (uint64_t)n;
    if (n >= 8) {
        Py_ssize_t i;
        for (i = 0; i + 8 < n; i += 8) hash = sns_mix(hash, sns_word(p + i));
        hash = sns_mix(hash, sns_word(p + n - 8));
    }
    else if (n >= 4) hash = sns_mix(hash, (uint64_t)sns_half(p) << 32 | sns_half(p + n - 4));
    else if (n > 0) hash = sns_mix(hash, (uint64_t)p[0] << 16 | p[n >> 1] << 8 | p[n - 1]);
    return (uint32_t)(hash >> 32);
}

#endif
