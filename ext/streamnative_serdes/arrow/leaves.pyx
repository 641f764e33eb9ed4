# Decodes leaf values into columns: numbers, text, decimals, UUIDs.

# --- numbers and lengths: each returns its end, or NULL with a fault --------------------------------------------------

cdef inline const uint8_t* stop(Reader* r, const uint8_t* p, int fault, int64_t a=0, int64_t b=0) noexcept nogil:
    """Record a fault at ``p``; returns NULL."""
    r.p = p
    fail(r, fault, a, b)
    return NULL


cdef inline const uint8_t* get_varint(uint64_t* value, const uint8_t* p, const uint8_t* end, bint narrow,
                                      Reader* r) noexcept nogil:
    cdef const uint8_t* behind = sns_get_varint(p, end, value)
    if unlikely(behind is NULL or (narrow and value[0] > 0xFFFFFFFFUL)):
        return stop(r, p, BAD_NUMBER, 32 if narrow else 64)
    return behind


cdef inline const uint8_t* get_size(int64_t* size, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    """Read the length of bytes or text, and check that enough bytes are left."""
    cdef uint64_t value = 0
    p = get_varint(&value, p, end, False, r)
    if unlikely(p is NULL):
        return NULL
    size[0] = <int64_t>(value >> 1)
    # The zigzag encoding of a non-negative number is even.
    if unlikely(value & 1 or value >> 1 > <uint64_t>(end - p)):
        return stop(r, p, BAD_SIZE, sns_unzigzag(value), end - p)
    return p


cdef inline bint has_bytes(Py_ssize_t size, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    return likely(end - p >= size) or stop(r, p, CUT_OFF, size, end - p) is not NULL


cdef inline bint has_room(Column* c, Reader* r) noexcept nogil:
    return likely(has_slot(c)) or fail(r, NO_MEMORY)


# The same on the Reader, for code that is not performance-critical.

cdef bint next_varint(uint64_t* value, bint narrow, Reader* r) noexcept nogil:
    cdef const uint8_t* p = get_varint(value, r.p, r.end, narrow, r)
    if p is NULL:
        return False
    r.p = p
    return True


cdef bint next_size(int64_t* size, Reader* r) noexcept nogil:
    cdef const uint8_t* p = get_size(size, r.p, r.end, r)
    if p is NULL:
        return False
    r.p = p
    return True


cdef const uint8_t* next_bytes(Py_ssize_t size, Reader* r) noexcept nogil:
    cdef const uint8_t* p = r.p
    if not has_bytes(size, p, r.end, r):
        return NULL
    r.p = p + size
    return p


cdef bint next_branch(int64_t* branch, int count, Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    if not next_varint(&value, False, r):
        return False
    branch[0] = sns_unzigzag(value)
    return likely(0 <= branch[0] < count) or fail(r, BAD_BRANCH, branch[0], count)


# --- leaves -----------------------------------------------------------------------------------------------------------

cdef inline const uint8_t* read_long(Column* c, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    cdef const uint8_t* behind = sns_get_wide_varint(p, end, &value)
    if unlikely(behind is NULL):
        return stop(r, p, BAD_NUMBER, 64)
    if unlikely(not has_room(c, r)):
        return NULL
    (<int64_t*>c.data)[c.length] = sns_unzigzag(value)
    c.length += 1
    return behind


cdef inline const uint8_t* read_int(Column* c, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    p = get_varint(&value, p, end, True, r)
    if unlikely(p is NULL or not has_room(c, r)):
        return NULL
    (<int32_t*>c.data)[c.length] = <int32_t>sns_unzigzag(value)
    c.length += 1
    return p


cdef inline const uint8_t* read_number(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                       Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t number
    cdef int fault
    p = get_varint(&value, p, end, op.narrow, r)
    if unlikely(p is NULL or not has_room(c, r)):
        return NULL
    number = sns_unzigzag(value)
    fault = convert(op, &number)
    if unlikely(fault):
        return stop_in(op, r, p, fault, number)
    put_number(c, op.out, number * op.unit)
    return p


cdef inline int convert(const Op* op, int64_t* number) noexcept nogil:
    """Convert a number to the reader's unit, and compare it with its bounds. Returns 0 or the fault."""
    if unlikely(op.by > 1):
        number[0] = floor_div(number[0], op.by)
    elif unlikely(op.times > 1):
        if not INT64_MIN / op.times <= number[0] <= INT64_MAX / op.times:
            return BAD_UNIT
        number[0] *= op.times
    return OUT_OF_RANGE if op.bounded and unlikely(number[0] < op.low or number[0] >= op.high) else NO_FAULT


cdef const uint8_t* stop_in(Op* op, Reader* r, const uint8_t* p, int fault, int64_t a) noexcept nogil:
    r.op = op
    return stop(r, p, fault, a)


cdef inline void put_number(Column* c, int out, int64_t number) noexcept nogil:
    if out == OUT_INT64:
        (<int64_t*>c.data)[c.length] = number
    elif out == OUT_INT32:
        (<int32_t*>c.data)[c.length] = <int32_t>number
    elif out == OUT_DOUBLE:
        (<double*>c.data)[c.length] = <double>number
    elif out == OUT_FLOAT:
        (<float*>c.data)[c.length] = <float><double>number
    else:
        (<double*>c.data)[c.length] = <double><float><double>number
    c.length += 1


cdef inline const uint8_t* read_double(Column* c, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    if unlikely(not has_bytes(8, p, end, r) or not has_room(c, r)):
        return NULL
    (<double*>c.data)[c.length] = sns_get_double(p)
    c.length += 1
    return p + 8


cdef inline const uint8_t* read_float(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                      Reader* r) noexcept nogil:
    if unlikely(not has_bytes(4, p, end, r) or not has_room(c, r)):
        return NULL
    if op.kind == READ_FLOAT:
        (<float*>c.data)[c.length] = sns_get_float(p)
    else:
        (<double*>c.data)[c.length] = sns_get_float(p)
    c.length += 1
    return p + 4


cdef inline const uint8_t* read_boolean(Column* c, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    if unlikely(not has_bytes(1, p, end, r) or not has_room(c, r)):
        return NULL
    if unlikely(p[0] > 1):
        return stop(r, p + 1, BAD_BOOLEAN, p[0])
    put_bit(c, p[0])
    return p + 1


cdef inline const uint8_t* read_bytes(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                      Reader* r) noexcept nogil:
    cdef int64_t size = 0
    p = get_size(&size, p, end, r)
    if unlikely(p is NULL):
        return NULL
    if op.kind == READ_STRING:
        if likely(size <= SNS_SHORT and (end - p >= SNS_SHORT or r.limit - p >= SNS_SHORT) and put_short(c, p, size)):
            return p + size
        return put_checked_text(c, p, size, r)
    return p + size if made(r, put_bytes(c, p, size)) else NULL


cdef const uint8_t* put_checked_text(Column* c, const uint8_t* text, int64_t size, Reader* r) noexcept nogil:
    """Append a VARIABLE slot of text that is to be checked. Returns the end of the text, or NULL with a fault."""
    cdef int fault
    if unlikely(size > c.room - c.used or c.length == c.capacity):
        fault = grow_both(c, size)
        if fault:
            return stop(r, text, fault)
    if unlikely(not sns_copy_utf8(c.data + c.used, text, size)):
        r.text = text
        return stop(r, text + size, BAD_TEXT, size)
    c.used += size
    end_slot(c, c.used)
    return text + size


cdef inline const uint8_t* read_enum(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                     Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t index
    p = get_varint(&value, p, end, True, r)
    if unlikely(p is NULL):
        return NULL
    index = sns_unzigzag(value)
    if unlikely(index < 0 or index >= op.member or op.symbols[index].size < 0):
        return stop_in(op, r, p, NO_SYMBOL, index)
    if likely(op.symbols[index].size <= SNS_SHORT and put_short(c, op.symbols[index].text, op.symbols[index].size)):
        return p
    return p if made(r, put_bytes(c, op.symbols[index].text, op.symbols[index].size)) else NULL


cdef inline const uint8_t* read_decimal(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                        Reader* r) noexcept nogil:
    cdef sns_int128 number
    cdef int64_t size = op.size, small
    if size < 0:
        p = get_size(&size, p, end, r)
    if unlikely(p is NULL or not has_bytes(size, p, end, r) or not has_room(c, r)):
        return NULL
    if unlikely(size == 0):
        return stop(r, p, EMPTY_DECIMAL)
    if likely(size <= 8 and r.limit - p >= 8 and op.precision <= 18):
        small = sns_get_signed_word(p, <int>size)
        if unlikely(small >= <int64_t>TENS[op.precision].low or small <= -<int64_t>TENS[op.precision].low):
            return stop(r, p + size, LONG_DECIMAL, op.precision)
        number.low, number.high = <uint64_t>small, <uint64_t>(small >> 63)
    elif unlikely(not sns_get_int128(p, size, &number) or not sns_within(number, TENS[op.precision])):
        return stop(r, p + size, LONG_DECIMAL, op.precision)
    sns_put_int128(c.data + 16 * c.length, number)
    c.length += 1
    return p + size


cdef bint read_fixed(Op* op, Column* c, Reader* r) noexcept nogil:
    cdef const uint8_t* p = next_bytes(op.size, r)
    return p is not NULL and made(r, put_bytes(c, p, op.size))


cdef bint read_big_decimal(Column* c, Reader* r) noexcept nogil:
    """Append a big-decimal (bytes of the unscaled number, then its scale) as it is, after checking it."""
    cdef const uint8_t* outer_end = r.end
    cdef const uint8_t* start
    cdef int64_t outer = 0, size = 0
    cdef uint64_t scale = 0
    if not next_size(&outer, r):
        return False
    start = r.p
    r.end = start + outer               # reads inside must stay within these bytes
    if not next_size(&size, r):
        return False
    if size == 0 or size > MAX_DECIMAL_BYTES:
        return fail(r, BAD_BIG_DECIMAL, size)
    r.p += size
    if not next_varint(&scale, True, r):
        return False
    if r.p != r.end:
        return fail(r, LONG_BIG_DECIMAL, r.end - r.p)
    r.end = outer_end
    return made(r, put_bytes(c, start, outer))


cdef bint read_uuid(Column* c, Reader* r) noexcept nogil:
    """Append a UUID as text in the usual form, whichever form the message has."""
    cdef uint8_t raw[16]
    cdef uint8_t text[36]
    cdef const uint8_t* p
    cdef int64_t size = 0
    if not next_size(&size, r):
        return False
    p = r.p
    r.p += size
    if unlikely(size != 36 or not sns_copy_uuid(text, p)):
        if not sns_is_utf8(p, size):
            return fail_text(r, BAD_TEXT, p, size)
        if not unusual_uuid(raw, p, size):
            return fail_text(r, BAD_UUID, p, size)
        sns_put_uuid(text, raw)
    return made(r, put_bytes(c, text, 36))


cdef bint fail_text(Reader* r, int fault, const uint8_t* text, int64_t size) noexcept nogil:
    r.text = text
    return fail(r, fault, size)


cdef bint unusual_uuid(uint8_t* raw, const uint8_t* p, int64_t size) noexcept with gil:
    """Parse the other forms that uuid.UUID accepts: without dashes, in braces, as a URN."""
    try:
        number = UUID((<char*>p)[:size].decode()).bytes
    except ValueError:
        return False
    memcpy(raw, PyBytes_AS_STRING(number), 16)
    return True
