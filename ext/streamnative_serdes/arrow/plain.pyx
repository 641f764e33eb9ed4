# Pulsar's primitive types, read into columns and written from them. They have neither a length nor a tag: a value takes
# up all of its message, or its half of a KEY_VALUE message. Numbers are big-endian.
#
#     BOOLEAN          1 byte; 0 is false
#     INT8 ... INT64   1 to 8 bytes
#     FLOAT | DOUBLE   4 or 8 bytes, IEEE 754
#     STRING | BYTES   UTF-8; any bytes
#     DATE | TIME | TIMESTAMP   int64: milliseconds since 1970-01-01T00:00Z
#     INSTANT          int64: seconds since 1970-01-01T00:00Z   | int32: nanoseconds
#     LOCAL_DATE       int64: days since 1970-01-01
#     LOCAL_TIME       int64: nanoseconds since midnight
#     LOCAL_DATE_TIME  int64: days since 1970-01-01             | int64: nanoseconds since midnight
#
# Source: the schema classes of Pulsar's Java client, org.apache.pulsar.client.impl.schema.

cdef enum PlainKind:
    PLAIN_TEXT
    PLAIN_BYTES
    PLAIN_BOOLEAN
    PLAIN_WHOLE
    PLAIN_REAL
    PLAIN_MILLIS
    PLAIN_INSTANT
    PLAIN_DAY
    PLAIN_TIME
    PLAIN_DAY_TIME

cdef int64_t SECOND = 1_000_000_000             # nanoseconds
cdef int64_t DAY_NANOS = 86_400_000_000_000
cdef int64_t DAY_MILLIS = 86_400_000

# Type -> (how, bytes on the wire or -1).
PLAIN = {"STRING": (PLAIN_TEXT, -1), "BYTES": (PLAIN_BYTES, -1), "BOOLEAN": (PLAIN_BOOLEAN, 1),
         "INT8": (PLAIN_WHOLE, 1), "INT16": (PLAIN_WHOLE, 2), "INT32": (PLAIN_WHOLE, 4), "INT64": (PLAIN_WHOLE, 8),
         "FLOAT": (PLAIN_REAL, 4), "DOUBLE": (PLAIN_REAL, 8),
         "DATE": (PLAIN_MILLIS, 8), "TIME": (PLAIN_MILLIS, 8), "TIMESTAMP": (PLAIN_MILLIS, 8),
         "INSTANT": (PLAIN_INSTANT, 12), "LOCAL_DATE": (PLAIN_DAY, 8), "LOCAL_TIME": (PLAIN_TIME, 8),
         "LOCAL_DATE_TIME": (PLAIN_DAY_TIME, 16)}
# Type -> the Avro type that the same columns are written as: (logical type or type, type).
PLAIN_AS_AVRO = {"INT8": ("int", "int"), "INT16": ("int", "int"), "INT32": ("int", "int"), "INT64": ("long", "long"),
                 "DATE": ("timestamp-millis", "long"), "TIME": ("timestamp-millis", "long"),
                 "TIMESTAMP": ("timestamp-millis", "long"), "INSTANT": ("timestamp-nanos", "long"),
                 "LOCAL_DATE": ("date", "int"), "LOCAL_TIME": ("time-nanos", "long"),
                 "LOCAL_DATE_TIME": ("local-timestamp-nanos", "long")}
# Type -> its range, where that is narrower than that of the Avro type.
PLAIN_RANGE = {"INT8": (-128, 127), "INT16": (-32_768, 32_767), "LOCAL_TIME": (0, DAY_NANOS - 1)}


# --- reading ----------------------------------------------------------------------------------------------------------

cdef bint read_plain(Op* op, Column* c, Reader* r) noexcept nogil:
    """Read a value from all bytes up to ``r.end``."""
    cdef const uint8_t* p = r.p
    cdef int64_t size = r.end - p
    r.op = op
    if op.size < 0:
        r.p = r.end
        if op.out == PLAIN_TEXT and unlikely(not sns_is_utf8(p, size)):
            return fail_text(r, BAD_TEXT, p, size)
        return made(r, put_bytes(c, p, size))
    if unlikely(size != op.size):
        r.p += min(size, <int64_t>op.size)
        return fail(r, BAD_WIDTH, op.size, size)
    if not has_room(c, r):
        return False
    if op.out == PLAIN_BOOLEAN:
        put_bit(c, p[0] != 0)           # as in Java
    elif op.out == PLAIN_WHOLE or op.out == PLAIN_REAL:
        put_plain_bits(c, sns_get_signed(p, <int>op.size), <int>op.size)
    elif not read_moment(op, c, p, r):
        return False
    r.p = r.end
    return True


cdef inline void put_plain_bits(Column* c, int64_t bits, int size) noexcept nogil:
    """Append the low bytes of ``bits``, which are those of a number of this size."""
    if size == 8:
        memcpy(c.data + 8 * c.length, &bits, 8)
    elif size == 4:
        (<int32_t*>c.data)[c.length] = <int32_t>bits
    elif size == 2:
        (<int16_t*>c.data)[c.length] = <int16_t>bits
    else:
        (<int8_t*>c.data)[c.length] = <int8_t>bits
    c.length += 1


cdef bint read_moment(Op* op, Column* c, const uint8_t* p, Reader* r) noexcept nogil:
    """Append a date or a time, as the column has it."""
    cdef int64_t number = sns_get_signed(p, 8), nanos
    if op.out == PLAIN_MILLIS:
        if number < FIRST_DAY * DAY_MILLIS or number >= (LAST_DAY + 1) * DAY_MILLIS:
            return fail(r, OUT_OF_RANGE, number)
        put_plain_bits(c, number * 1000, 8)
    elif op.out == PLAIN_DAY:
        if number < FIRST_DAY or number > LAST_DAY:
            return fail(r, OUT_OF_RANGE, number)
        put_plain_bits(c, number, 4)
    elif op.out == PLAIN_TIME:
        if number < 0 or number >= DAY_NANOS:
            return fail(r, OUT_OF_RANGE, number)
        put_plain_bits(c, number, 8)
    else:
        nanos = sns_get_signed(p + 8, 4 if op.out == PLAIN_INSTANT else 8)
        if op.out == PLAIN_DAY_TIME and (nanos < 0 or nanos >= DAY_NANOS):
            r.p += 8
            return fail(r, NO_TIME_OF_DAY, nanos)
        if not add_nanos(&number, SECOND if op.out == PLAIN_INSTANT else DAY_NANOS, nanos):
            return fail(r, OUT_OF_RANGE, number)
        put_plain_bits(c, number, 8)
    return True


cdef bint add_nanos(int64_t* number, int64_t unit, int64_t nanos) noexcept nogil:
    """Turn a count of ``unit`` and nanoseconds into nanoseconds; False if 64 bits do not hold them.

    ``nanos`` is less than a unit of days, or 32 bits of a unit of seconds, so it is never near the limit itself.
    """
    cdef int64_t whole = number[0]
    if whole < 0:                       # towards 0, so that the product fits where the sum does
        whole += 1
        nanos -= unit
    if whole < INT64_MIN / unit or whole > INT64_MAX / unit:
        return False
    whole *= unit
    if (nanos > 0 and whole > INT64_MAX - nanos) or (nanos < 0 and whole < INT64_MIN - nanos):
        return False
    number[0] = whole + nanos
    return True


# --- writing ----------------------------------------------------------------------------------------------------------

cdef uint8_t* write_plain(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef const uint8_t* data
    cdef int64_t value = 0, size = 0, unit, rest
    if op.out == PLAIN_TEXT or op.out == PLAIN_BYTES:
        data = bytes_at(&s.slots, slot, &size)
        if op.out == PLAIN_TEXT and unlikely(not sns_is_utf8(data, size)):
            return halt_at(w, op, BAD_TEXT, data, size)
        return write_sized(op, data, size, False, p, w)
    if op.out == PLAIN_BOOLEAN:
        slot += s.slots.offset
        p[0] = s.slots.slots[slot >> 3] >> (slot & 7) & 1
        return p + 1
    if op.out == PLAIN_REAL:
        return write_plain_real(op, s, slot, p, w)
    if not whole_at(op, s, slot, &value, w):
        return NULL
    if op.out != PLAIN_INSTANT and op.out != PLAIN_DAY_TIME:
        return put_big_endian(p, value, <int>op.size)
    unit = SECOND if op.out == PLAIN_INSTANT else DAY_NANOS
    rest = value % unit                 # as in C: it has the sign of the value
    p = put_big_endian(p, floor_div(value, unit), 8)
    return put_big_endian(p, rest + unit if rest < 0 else rest, <int>op.size - 8)


cdef uint8_t* write_plain_real(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    """As Avro's, whose bytes are in the other order."""
    cdef uint8_t* end = write_double(op, s, slot, p, w) if op.size == 8 else write_float(op, s, slot, p, w)
    cdef uint8_t byte
    cdef int i
    if end is NULL:
        return NULL
    for i in range(<int>op.size // 2):
        byte = p[i]
        p[i] = p[op.size - 1 - i]
        p[op.size - 1 - i] = byte
    return end


cdef inline uint8_t* put_big_endian(uint8_t* p, int64_t value, int size) noexcept nogil:
    cdef int i
    for i in range(size):
        p[i] = <uint8_t>(<uint64_t>value >> 8 * (size - 1 - i))
    return p + size
