# Parses the schema version header (SNIP 42), inline in its callers.
#
#     offset 0      2                          10
#            | 0x03 0x04 | schema version, int64 BE | Avro binary datum ...
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    HEADER_SIZE = 10            # bytes
    CONFLUENT_SIZE = 5          # bytes: 0x00, then the schema id, int32 BE
    NO_VERSION = -1

# Keys in the place of versions, for schemas of a second registry (_reading/framings.py): FIRST_PREFIXED + id for
# messages with Confluent's prefix, FIRST_BY_HEADER + a number for those with Confluent's header. NO_FRAMING is the key
# of messages that have none of the framings to be read.
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
