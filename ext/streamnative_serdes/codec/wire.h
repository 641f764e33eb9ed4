/* Varints, numbers and text in C, for the call path, the codec and Arrow (declared for Cython in wire.pxd). No function here can run Python code; every read is
* bounded by an end pointer.
 */
#ifndef STREAMNATIVE_SERDES_WIRE_H
#define STREAMNATIVE_SERDES_WIRE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#define SNS_SSE2 1
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define SNS_NEON 1
#include <arm_neon.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SNS_LIKELY(x) __builtin_expect(!!(x), 1)
#define SNS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SNS_NOINLINE __attribute__((noinline, unused))
#else
#define SNS_LIKELY(x) (x)
#define SNS_UNLIKELY(x) (x)
#define SNS_NOINLINE
#endif

#if (defined(__GNUC__) || defined(__clang__)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SNS_WORDS 1
#endif

/* --- varint: 7 bits a byte, least significant first, high bit set on all but the last; zigzag folds the sign ------- */

static inline uint64_t sns_zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63); }
static inline int64_t sns_unzigzag(uint64_t n) { return (int64_t)(n >> 1) ^ -(int64_t)(n & 1); }

static inline uint8_t *sns_put_varint(uint8_t *p, uint64_t n) { /* needs 10 bytes of room */
    while (n >= 0x80) { *p++ = (uint8_t)(n | 0x80); n >>= 7; }
    *p++ = (uint8_t)n;
    return p;
}

/* The place of the lowest bit that is set; there has to be one. */
static inline int sns_first_bit(uint64_t bits) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(bits);
#else
    int place = 0;
    for (; !(bits & 1); bits >>= 1) place++;
    return place;
#endif
}

/* NULL if truncated, longer than 10 bytes, or wider than 64 bits. */
static inline const uint8_t *sns_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    const uint8_t *ninth;
    uint64_t n, b;
    int shift = 7;
    if (SNS_UNLIKELY(p >= end)) return NULL;
    n = *p++;
    if (SNS_LIKELY(n < 0x80)) { *out = n; return p; }
    n &= 0x7f;
    for (ninth = end - p < 8 ? end : p + 8; p < ninth; shift += 7) {
        b = *p++;
        n |= (b & 0x7f) << shift;
        if (b < 0x80) { *out = n; return p; }
    }
    if (p == end || *p > 1) return NULL; /* the 10th byte holds the last bit */
    *out = n | (uint64_t)*p << 63;
    return p + 1;
}

/* The same as sns_get_varint, faster for numbers of several bytes. */
static inline const uint8_t *sns_get_wide_varint(const uint8_t *p, const uint8_t *end, uint64_t *out) {
#ifdef SNS_WORDS
    if (SNS_LIKELY(end - p >= 8)) {
        uint64_t word, last;
        memcpy(&word, p, 8);
        last = ~word & UINT64_C(0x8080808080808080);
        if (SNS_LIKELY(last != 0)) {
            word &= (last ^ (last - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
            word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
            word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
            *out = (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
            return p + (sns_first_bit(last) >> 3) + 1;
        }
    }
#endif
    return sns_get_varint(p, end, out);
}

/* --- integers and floats ------------------------------------------------------------------------------------------ */

/* An int object as int64: 0 done, 1 out of range, -1 a Python error is set. */
static inline int sns_as_int64(PyObject *v, int64_t *out) {
    int overflow = 0;
    long long value;
    /* Fast path for small ints, without a call. */
#if PY_VERSION_HEX >= 0x030C0000
    if (SNS_LIKELY(PyUnstable_Long_IsCompact((const PyLongObject *)v))) {
        *out = (int64_t)PyUnstable_Long_CompactValue((const PyLongObject *)v);
        return 0;
    }
#elif PYLONG_BITS_IN_DIGIT == 30
    const digit *digits = ((const PyLongObject *)v)->ob_digit;
    switch (Py_SIZE(v)) { /* the number of digits, with the sign */
    case 0: *out = 0; return 0;
    case 1: *out = digits[0]; return 0;
    case 2: *out = (int64_t)digits[1] << 30 | digits[0]; return 0;
    case -1: *out = -(int64_t)digits[0]; return 0;
    case -2: *out = -((int64_t)digits[1] << 30 | digits[0]); return 0;
    }
#endif
    value = PyLong_AsLongLongAndOverflow(v, &overflow);
    *out = (int64_t)value;
    if (SNS_UNLIKELY(overflow)) return 1;
    return SNS_UNLIKELY(value == -1 && PyErr_Occurred()) ? -1 : 0;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SNS_SWAP 1
#else
#define SNS_SWAP 0
#endif

static inline void sns_put_le(uint8_t *p, const void *value, int size) {
    if (SNS_SWAP) { int i; for (i = 0; i < size; i++) p[i] = ((const uint8_t *)value)[size - 1 - i]; }
    else memcpy(p, value, (size_t)size);
}
static inline void sns_put_double(uint8_t *p, double d) { sns_put_le(p, &d, 8); }
static inline void sns_put_float(uint8_t *p, float f) { sns_put_le(p, &f, 4); }
static inline double sns_get_double(const uint8_t *p) { double d; sns_put_le((uint8_t *)&d, p, 8); return d; }
static inline float sns_get_float(const uint8_t *p) { float f; sns_put_le((uint8_t *)&f, p, 4); return f; }
static inline uint32_t sns_get_u32le(const uint8_t *p) { uint32_t u; sns_put_le((uint8_t *)&u, p, 4); return u; }
static inline void sns_put_u32le(uint8_t *p, uint32_t u) { sns_put_le(p, &u, 4); }

/* A big-endian number in two's complement, of 1 to 8 bytes. */
static inline int64_t sns_get_signed(const uint8_t *p, int size) {
    uint64_t u = (uint64_t)0 - (p[0] >> 7);
    int i;
    for (i = 0; i < size; i++) u = u << 8 | p[i];
    return (int64_t)u;
}

static inline int64_t sns_floor_div(int64_t a, int64_t b) { /* b > 0 */
    int64_t q = b == 1000 ? a / 1000 : a / b; /* division by a constant is faster */
    return a - q * b < 0 ? q - 1 : q;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static inline uint64_t sns_word(const uint8_t *p) { uint64_t word; memcpy(&word, p, 8); return word; }
static inline uint32_t sns_half(const uint8_t *p) { uint32_t half; memcpy(&half, p, 4); return half; }

/* The OR of n >= 64 bytes, n a multiple of 64. Eight accumulators, so that compilers vectorize the loop. */
static inline uint64_t sns_any_bits(const uint8_t *p, Py_ssize_t n) {
    uint64_t any[8] = {0};
    Py_ssize_t i;
    int k;
    for (i = 0; i < n; i += 64)
        for (k = 0; k < 8; k++) any[k] |= sns_word(p + i + 8 * k);
    return any[0] | any[1] | any[2] | any[3] | any[4] | any[5] | any[6] | any[7];
}

/* The tail is checked in one word that overlaps the bytes before it, since most texts are short. */
static inline int sns_is_ascii(const uint8_t *p, Py_ssize_t n) {
    uint64_t bits = 0;
    Py_ssize_t i = 0;
    if (n >= 8) {
        if (n >= 64) bits = sns_any_bits(p, i = n & ~(Py_ssize_t)63);
        for (; i + 8 <= n; i += 8) bits |= sns_word(p + i);
        bits |= sns_word(p + n - 8);
    }
    else if (n >= 4) bits = sns_half(p) | sns_half(p + n - 4);
    else if (n > 0) bits = p[0] | p[n >> 1] | p[n - 1];
    return (bits & 0x8080808080808080ULL) == 0;
}

/* memcpy for mostly short data: no call for up to 32 bytes. */
static inline void sns_copy(uint8_t *to, const uint8_t *from, Py_ssize_t n) {
    if (n > 32) memcpy(to, from, (size_t)n);
    else if (n >= 16) { memcpy(to, from, 16); memcpy(to + n - 16, from + n - 16, 16); }
    else if (n >= 8) { memcpy(to, from, 8); memcpy(to + n - 8, from + n - 8, 8); }
    else if (n >= 4) { memcpy(to, from, 4); memcpy(to + n - 4, from + n - 4, 4); }
    else if (n > 0) { to[0] = from[0]; to[n >> 1] = from[n >> 1]; to[n - 1] = from[n - 1]; }
}

/* Copy n <= 32 bytes, and return whether all are ASCII. Reads and writes 32 bytes, whatever n is, and has no branches. */
enum { SNS_SHORT = 32 };
static inline int sns_copy_short(uint8_t *to, const uint8_t *from, Py_ssize_t n) {
#if defined(SNS_SSE2)
    __m128i low = _mm_loadu_si128((const __m128i *)from), high = _mm_loadu_si128((const __m128i *)(from + 16));
    uint64_t odd = (uint64_t)(uint32_t)_mm_movemask_epi8(low) | (uint64_t)(uint32_t)_mm_movemask_epi8(high) << 16;
    _mm_storeu_si128((__m128i *)to, low);
    _mm_storeu_si128((__m128i *)(to + 16), high);
    return (odd & ((UINT64_C(1) << n) - 1)) == 0;
#else
    /* The first n bytes from sign_bits + 32 - n on. */
    static const uint8_t sign_bits[64] = {
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
    };
    const uint8_t *mask = sign_bits + 32 - n;
#if defined(SNS_NEON)
    uint8x16_t low = vld1q_u8(from), high = vld1q_u8(from + 16);
    vst1q_u8(to, low);
    vst1q_u8(to + 16, high);
    return vmaxvq_u8(vorrq_u8(vandq_u8(low, vld1q_u8(mask)), vandq_u8(high, vld1q_u8(mask + 16)))) == 0;
#else
    uint64_t text[4], bits[4];
    memcpy(text, from, 32);
    memcpy(bits, mask, 32);
    memcpy(to, text, 32);
    return ((text[0] & bits[0]) | (text[1] & bits[1]) | (text[2] & bits[2]) | (text[3] & bits[3])) == 0;
#endif
#endif
}

static inline PyObject *sns_new_ref(PyObject *object) { Py_INCREF(object); return object; }

/* Tells Cython that a new reference is its own from now on; NULL if an exception is set. */
static inline PyObject *sns_given(PyObject *made) { return made; }

/* The object itself, or NULL with the exception cleared. */
static inline PyObject *sns_if_made(PyObject *made) {
    if (SNS_UNLIKELY(made == NULL)) PyErr_Clear();
    return made;
}

/* A new str from n bytes of ASCII. NULL with no exception for other text, and for the strs that CPython shares. */
static inline PyObject *sns_new_ascii(const uint8_t *p, Py_ssize_t n) {
    PyObject *s;
    if (SNS_UNLIKELY(n <= 1 || !sns_is_ascii(p, n))) return NULL;
    s = PyUnicode_New(n, 127);
    if (SNS_LIKELY(s != NULL)) sns_copy((uint8_t *)PyUnicode_1BYTE_DATA(s), p, n);
    return sns_if_made(s);
}

/* A new str from n bytes of UTF-8, strictly decoded. */
static inline PyObject *sns_new_str(const uint8_t *p, Py_ssize_t n) {
    PyObject *s = sns_new_ascii(p, n);
    return s != NULL ? s : PyUnicode_DecodeUTF8((const char *)p, n, NULL);
}

/* Append to a list; without a call while it has room. */
static inline int sns_append(PyObject *list, PyObject *item) {
    PyListObject *l = (PyListObject *)list;
    Py_ssize_t n = Py_SIZE(l);
    if (SNS_LIKELY(n < l->allocated)) {
        Py_INCREF(item);
        PyList_SET_ITEM(list, n, item);
        Py_SET_SIZE(l, n + 1);
        return 0;
    }
    return PyList_Append(list, item);
}

/* Same, and steals the reference to the item. */
static inline int sns_give(PyObject *list, PyObject *item) {
    int result = sns_append(list, item);
    Py_DECREF(item);
    return result;
}

/* An empty list with room for n items. It is valid from the start, since gc makes it visible to other code. */
static inline PyObject *sns_new_list(Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    if (list != NULL) Py_SET_SIZE((PyListObject *)list, 0);
    return list;
}

/* memcmp for mostly short and mostly equal data. */
static inline int sns_same_bytes(const uint8_t *a, const uint8_t *b, Py_ssize_t n) {
    if (n > 32) return memcmp(a, b, (size_t)n) == 0;
    if (n >= 8) {
        Py_ssize_t i;
        for (i = 0; i + 8 < n; i += 8)
            if (sns_word(a + i) != sns_word(b + i)) return 0;
        return sns_word(a + n - 8) == sns_word(b + n - 8);
    }
    if (n >= 4) return sns_half(a) == sns_half(b) && sns_half(a + n - 4) == sns_half(b + n - 4);
    return n == 0 || (a[0] == b[0] && a[n >> 1] == b[n >> 1] && a[n - 1] == b[n - 1]);
}

/* Is this str these n bytes of ASCII? */
static inline int sns_is_text(PyObject *s, const uint8_t *p, Py_ssize_t n) {
    return PyUnicode_GET_LENGTH(s) == n && sns_same_bytes((const uint8_t *)PyUnicode_DATA(s), p, n);
}

/* dict[key] = value for a key whose hash is cached, which is true of any str that has been a key before. */
static inline int sns_set_item(PyObject *dict, PyObject *key, PyObject *value) {
#if PY_VERSION_HEX < 0x030C0000
    return _PyDict_SetItem_KnownHash(dict, key, value, ((PyASCIIObject *)key)->hash);
#else
    return PyDict_SetItem(dict, key, value); /* as fast in later versions */
#endif
}

/* Same, and steals the reference to the value. */
static inline int sns_give_item(PyObject *dict, PyObject *key, PyObject *value) {
    int result = sns_set_item(dict, key, value);
    Py_DECREF(value);
    return result;
}

/* The text of a str that PyUnicode_IS_COMPACT_ASCII. */
static inline const uint8_t *sns_ascii(PyObject *s) { return (const uint8_t *)((PyASCIIObject *)s + 1); }

/* Whether two ASCII strs are equal; false for other text. Not inlined, to keep its callers small. */
static SNS_NOINLINE int sns_equal_ascii(PyObject *a, PyObject *b) {
    Py_ssize_t n;
    if (!PyUnicode_CheckExact(a) || !PyUnicode_IS_COMPACT_ASCII(a) || !PyUnicode_IS_COMPACT_ASCII(b)) return 0;
    n = PyUnicode_GET_LENGTH(a);
    return n == PyUnicode_GET_LENGTH(b) && sns_same_bytes(sns_ascii(a), sns_ascii(b), n);
}

/* Whether two strs are equal; may be false for equal text that is not ASCII. Never runs user code. */
static inline int sns_same_text(PyObject *a, PyObject *b) { return a == b || sns_equal_ascii(a, b); }

/* Size in bytes of a str in UTF-8, or -1 if it holds a lone surrogate. */
static inline Py_ssize_t sns_utf8_size(int kind, const void *data, Py_ssize_t n) {
    Py_ssize_t i, size = n;
    Py_UCS4 c;
    for (i = 0; i < n; i++) {
        c = PyUnicode_READ(kind, data, i);
        if (c < 0x80) continue;
        if (c >= 0xD800 && c < 0xE000) return -1;
        size += c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    }
    return size;
}

static inline uint8_t *sns_put_utf8(uint8_t *p, int kind, const void *data, Py_ssize_t n) {
    Py_ssize_t i;
    Py_UCS4 c;
    for (i = 0; i < n; i++) {
        c = PyUnicode_READ(kind, data, i);
        if (c < 0x80) { *p++ = (uint8_t)c; continue; }
        if (c < 0x800) *p++ = (uint8_t)(0xC0 | c >> 6);
        else {
            if (c < 0x10000) *p++ = (uint8_t)(0xE0 | c >> 12);
            else {
                *p++ = (uint8_t)(0xF0 | c >> 18);
                *p++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
            }
            *p++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        }
        *p++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return p;
}

/* --- UUID: 16 bytes big-endian, or text: 8-4-4-4-12 hexadecimal digits --------------------------------------------- */

/* Offsets of the 16 pairs of digits in the text. */
static const uint8_t sns_uuid_pairs[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

/* Value of each character from '0' to 'f'; 16: not a hexadecimal digit. */
static const uint8_t sns_hex_digits['f' - '0' + 1] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 16, 16, 16, 16, 16, 16, 10, 11, 12, 13, 14, 15, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 10, 11, 12, 13, 14, 15};

/* Parse 36 characters into 16 bytes; 0 if they are not in the usual form. */
static inline int sns_parse_uuid(uint8_t *bytes, const uint8_t *text) {
    unsigned int i, high, low, bad = 0;
    if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return 0;
    for (i = 0; i < 16; i++) {
        high = text[sns_uuid_pairs[i]] - (unsigned int)'0';
        low = text[sns_uuid_pairs[i] + 1] - (unsigned int)'0';
        if (high >= sizeof sns_hex_digits || low >= sizeof sns_hex_digits) return 0;
        high = sns_hex_digits[high];
        low = sns_hex_digits[low];
        bad |= high | low;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return bad < 16;
}

static inline void sns_put_uuid(uint8_t *text, const uint8_t *bytes) {
    static const char digits[] = "0123456789abcdef";
    int i;
    text[8] = text[13] = text[18] = text[23] = '-';
    for (i = 0; i < 16; i++) {
        text[sns_uuid_pairs[i]] = (uint8_t)digits[bytes[i] >> 4];
        text[sns_uuid_pairs[i] + 1] = (uint8_t)digits[bytes[i] & 15];
    }
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Tells Cython that an exception is set. */
static inline int sns_reraise(void) { return -1; }

#endif
