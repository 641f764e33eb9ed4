# Logical types (Avro specification, "Logical Types"): dispatches to the function for each type; has UUID and duration.
#
# A value that the Python type could not hold on reading is refused on writing too, so that Python can read every
# message that Python wrote. Nothing is rounded, except microseconds in a schema of milliseconds.

Duration = namedtuple("Duration", ["months", "days", "millis"], module="streamnative_serdes.codec")
Duration.__doc__ = "Avro's duration: three unsigned 32-bit counts that do not convert into each other."


cdef int write_logical(Node node, Writer* w, object value) except -1:
    cdef int kind = node.kind
    if kind == TIMESTAMP or kind == LOCAL_TIMESTAMP:
        return write_timestamp(node, w, value)
    elif kind == DATE:
        return write_date(w, value)
    elif kind == DECIMAL:
        return write_decimal(node, w, value)
    elif kind == UUID_TEXT or kind == UUID_FIXED:
        return write_uuid(node, w, value)
    elif kind == TIME:
        return write_time(node, w, value)
    elif kind == NANOS:
        return write_nanos(node, w, value)
    elif kind == BIG_DECIMAL:
        return write_big_decimal(w, value)
    elif kind == UNSIZED:
        return write_unsized(<UnsizedNode>node, w, value)
    return write_duration(w, value)


cdef object read_logical(Node node, Reader* r):
    cdef int kind = node.kind
    if kind == TIMESTAMP:
        return datetime_of(node, get_long(r), UTC)
    elif kind == DATE:
        return date_of(get_int(r))
    elif kind == DECIMAL:
        return read_decimal(node, r)
    elif kind == UUID_TEXT or kind == UUID_FIXED:
        return read_uuid(node, r)
    elif kind == LOCAL_TIMESTAMP:
        return datetime_of(node, get_long(r), None)
    elif kind == TIME:
        return time_of(node, get_int(r) if node.micros == 1000 else get_long(r))
    elif kind == NANOS:
        return get_long(r)
    elif kind == BIG_DECIMAL:
        return read_big_decimal(r)
    elif kind == UNSIZED:
        return read_unsized(<UnsizedNode>node, r)
    return read_duration(r)


# --- uuid: text of RFC 4122, or 16 bytes, big-endian -----------------------------------------------------------------

cdef object UUID_TYPE = UUID        # a C variable: from Python 3.12 on, globals are looked up on each use
cdef tuple UUID_SLOTS = (UUID.int, UUID.is_safe, SafeUUID.unknown)
cdef sns_uuid_class UUID_CLASS
UUID_CLASS.type, UUID_CLASS.number = <PyTypeObject*>UUID, <PyObject*>UUID_SLOTS[0]
UUID_CLASS.safety, UUID_CLASS.unknown = <PyObject*>UUID_SLOTS[1], <PyObject*>UUID_SLOTS[2]


cdef int write_uuid(Node node, Writer* w, object value) except -1:
    cdef uint8_t raw[16]
    cdef uint8_t text[36]
    if not isinstance(value, UUID_TYPE):
        value = uuid_of(node, value)
    if not sns_uuid_bytes(raw, PyNumber_Index(value.int)):
        expected("a uuid of 128 bits", value)
    if node.kind == UUID_FIXED:
        return put_raw(w, raw, 16)
    sns_put_uuid(text, raw)
    return put_sized(w, text, 36)


cdef object uuid_of(Node node, object value):
    try:
        if isinstance(value, str):
            return UUID(value)
        if node.kind == UUID_FIXED and isinstance(value, (bytes, bytearray)):
            return UUID(bytes=bytes(value))
    except ValueError:
        raise EncodeError(f"expected uuid, got {shorten(value)}, which is not a valid UUID") from None
    expected("uuid", value)


cdef object read_uuid(Node node, Reader* r):
    cdef uint8_t raw[16]
    cdef Py_ssize_t size
    cdef const uint8_t* p
    if node.kind == UUID_FIXED:
        return sns_new_uuid(&UUID_CLASS, take(r, 16))
    size = get_size(r)
    p = take(r, size)
    if size != 36 or not sns_parse_uuid(raw, p):
        return unusual_uuid(sns_new_str(p, size))
    return sns_new_uuid(&UUID_CLASS, raw)


cdef object unusual_uuid(str text):
    try:
        return UUID(text)           # without dashes, in braces, as a URN
    except ValueError:
        raise DecodeError(f"expected uuid, got {shorten(text)}, which is not a valid UUID") from None


# --- duration: three unsigned 32-bit little-endian numbers -----------------------------------------------------------

cdef int write_duration(Writer* w, object value) except -1:
    cdef uint32_t parts[3]
    cdef int64_t number
    cdef int i
    cdef tuple counts = tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(counts) != 3:        # of the copy: user code may report another length, or change a list in __index__
        expected("duration", value, "pass streamnative_serdes.codec.Duration(months, days, millis)")
    for i in range(3):
        number = as_long(counts[i], "duration")
        if not 0 <= number <= 0xFFFFFFFF:
            raise EncodeError(f"duration: expected counts from 0 to 4294967295, got {number}")
        parts[i] = <uint32_t>number
    room(w, 12)
    for i in range(3):
        sns_put_u32le(w.p + 4 * i, parts[i])
    w.p += 12
    return 0


cdef object read_duration(Reader* r):
    cdef const uint8_t* p = take(r, 12)
    return Duration(sns_get_u32le(p), sns_get_u32le(p + 4), sns_get_u32le(p + 8))
