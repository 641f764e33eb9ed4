# Parses the schema version header (SNIP 42), inline in its callers.
#
#     offset 0      2                          10
#            | 0x03 0x04 | schema version, int64 BE | Avro binary datum ...
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

cdef enum:
    HEADER_SIZE = 10            # bytes
    CONFLUENT_SIZE = 5          # bytes: 0x00, then the schema id, int32 BE
    NO_VERSION = -1

# Keys in the place of versions, for schemas of another registry (_reading/framings.py): FIRST_PREFIXED + id for
# messages with Confluent's prefix, FIRST_BY_HEADER + a number for those of all other framings, by header or by prefix.
# In such a number, bits from 52 on are the size of the prefix; bit 51: the message is read without a header first; bit
# 50: the framing is not one of Confluent's. NO_FRAMING is the key of messages that have none of the framings to read.
cdef extern from *:
    """
    #define SNS_FIRST_PREFIXED INT64_MIN
    #define SNS_FIRST_BY_HEADER (INT64_MIN + ((int64_t)1 << 40))
    #define SNS_NO_FRAMING (INT64_MIN + ((int64_t)1 << 61))
    """
    const int64_t FIRST_PREFIXED "SNS_FIRST_PREFIXED"
    const int64_t FIRST_BY_HEADER "SNS_FIRST_BY_HEADER"
    const int64_t NO_FRAMING "SNS_NO_FRAMING"


cdef inline int64_t version_of(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """Return the version in the header, or NO_VERSION if the data is too short, has another marker or a negative
    version."""
    if size < HEADER_SIZE or data[0] != 3 or data[1] != 4 or data[2] & 0x80:
        return NO_VERSION
    return <int64_t>(                   # in one expression, which compilers turn into one load
        <uint64_t>data[2] << 56 | <uint64_t>data[3] << 48 | <uint64_t>data[4] << 40 | <uint64_t>data[5] << 32
        | <uint64_t>data[6] << 24 | <uint64_t>data[7] << 16 | <uint64_t>data[8] << 8 | <uint64_t>data[9])


cdef inline int64_t confluent_id_of(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """Return the schema id of Confluent's framing, or NO_VERSION."""
    if size < CONFLUENT_SIZE or data[0] != 0 or data[1] & 0x80:
        return NO_VERSION
    return <int64_t>data[1] << 24 | <int64_t>data[2] << 16 | <int64_t>data[3] << 8 | <int64_t>data[4]


cdef enum:
    SIZE_SHIFT = 52             # in the number of a key
    SIGN_SLOTS = 64             # a power of two

cdef enum Framings:             # whose prefixes are looked for; as in _reading/framings.py
    GLUE = 1
    AZURE = 2
    AZURE_CONTENT_TYPE = 4
    APICURIO = 8
    APICURIO_V3 = 16
    SHORT_IDS = 32              # ids of four bytes are read too, Confluent's or Apicurio's


cdef inline Py_ssize_t prefix_of(int64_t key) noexcept nogil:
    """Return the size of the prefix in front of the datum, for the key of a message without our header."""
    if key < FIRST_BY_HEADER:
        return CONFLUENT_SIZE
    return 0 if key >= NO_FRAMING else (key - FIRST_BY_HEADER) >> SIZE_SHIFT


cdef inline bint bare_first(int64_t key, bint confluent_second) noexcept nogil:
    """Return whether a message with this sign is read without a header first."""
    return confluent_second if key < FIRST_BY_HEADER else (key - FIRST_BY_HEADER) >> 51 & 1


cdef inline bint is_foreign(int64_t key) noexcept nogil:
    """Return whether a key from FIRST_BY_HEADER on is of a framing that is not Confluent's."""
    return (key - FIRST_BY_HEADER) >> 50 & 1


cdef inline bint are_hex(const uint8_t* p) noexcept nogil:
    """Return whether 32 bytes are hexadecimal digits."""
    cdef int i
    for i in range(32):
        if not (c'0' <= p[i] <= c'9' or c'a' <= p[i] | 32 <= c'f'):
            return False
    return True


cdef inline int prefix_size(const uint8_t* p, Py_ssize_t size, int which) noexcept nogil:
    """Return the size of the prefix of another vendor's framing in front of a message, or 0.

        | 0x03 | 0x00 or 0x05 | UUID, 16 bytes |                AWS Glue
        | 0x00 0x00 0x00 0x00 | 32 hexadecimal digits |         Azure, until 2021
        | 0x2C | "avro/binary+" | 32 hexadecimal digits |       Azure, for Kafka Streams
        | 0x00 | id, int64 BE |                                 Apicurio 2
        | 0x00 | id, int32 BE |                                 Apicurio 3
    """
    cdef bint zeros
    if size < CONFLUENT_SIZE:
        return 0
    if p[0] == 3:
        return 18 if which & GLUE and size >= 18 and (p[1] == 0 or p[1] == 5) else 0
    if p[0] == 0x2C:
        return 45 if which & AZURE_CONTENT_TYPE and size >= 45 and is_avro_type(p + 1) else 0
    if p[0] != 0:
        return 0
    if which & AZURE and size >= 36 and p[1] == 0 and p[2] == 0 and p[3] == 0 and are_hex(p + 4):
        return 36
    # As Apicurio's OptimisticFallbackIdHandler: four zero bytes begin an id of eight bytes.
    zeros = p[1] == 0 and p[2] == 0 and p[3] == 0 and p[4] == 0
    if which & APICURIO and size >= 9 and (zeros or not which & SHORT_IDS) and not p[1] & 0x80:
        if not zeros or p[5] or p[6] or p[7] or p[8]:
            return 9
    return 5 if which & APICURIO_V3 and not zeros and not p[1] & 0x80 else 0


cdef inline bint is_avro_type(const uint8_t* p) noexcept nogil:
    return memcmp(p, b"avro/binary+", 12) == 0 and are_hex(p + 12)


cdef struct Sign:
    int64_t key                 # 0: the slot is empty
    int size
    uint8_t[45] prefix          # the longest there is


cdef class SignTable:
    """The keys of the prefixes that were met last, for one thread."""
    cdef int which              # of Framings
    cdef object prefix_key      # prefix -> key
    cdef Sign* signs
    cdef int64_t learn(self, const uint8_t* p, int size) except 0


cdef inline Sign* slot_of(SignTable table, const uint8_t* p, int size) noexcept nogil:
    cdef int i
    cdef uint32_t hashed = <uint32_t>size
    for i in range(1, size):
        hashed = (hashed ^ p[i]) * <uint32_t>16777619
    return &table.signs[(hashed ^ hashed >> 16) & (SIGN_SLOTS - 1)]


cdef inline int64_t key_of_prefix(SignTable table, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Return the key of the prefix that a message begins with, NO_FRAMING without one, or 0 if ``learn`` has to say."""
    cdef int found = prefix_size(p, size, table.which)
    cdef Sign* sign
    if found == 0:
        return NO_FRAMING
    sign = slot_of(table, p, found)
    return sign.key if sign.size == found and memcmp(sign.prefix, p, found) == 0 else 0
