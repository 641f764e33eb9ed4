# Encodes slots of columns as Avro bytes by a plan, without the GIL, with the same checks as the object codec
# (codec/encode.pyx). All functions return where they stopped writing, or NULL with a fault in the Writer.

cdef enum:
    AHEAD = 16                  # slots to prefetch
    AHEAD_BYTES = 256
    LEAST_ROOM = 48             # bytes that are always free before a value: branch index, length, and up to
    SHORT = 32                  # bytes of data

cdef struct Writer:
    uint8_t* base
    uint8_t* end
    uint8_t* p                  # end of the last value
    const Source* sources
    const uint8_t* header       # of each message
    int64_t header_size
    bint staged                 # what is written up to ``end`` is a row on a stage (write_blocks.pyx), and cannot grow
    uint8_t* items              # stage of the items of lists, while no other list uses it; else NULL
    bint in_items               # they are being written
    int64_t items_extra         # bytes for values of any size in a row of that stage
    bint* medium                # by op: whether a block had texts longer than SNS_SHORT
    int depth
    int max_depth
    WriteStep* steps
    WriteStep outside
    int fault
    int64_t a
    const uint8_t* text         # its size is in ``a``
    double real
    WriteOp* op


cdef uint8_t* halt(Writer* w, WriteOp* op, int fault, int64_t a=0) noexcept nogil:
    w.op, w.fault, w.a = op, fault, a
    return NULL


cdef uint8_t* halt_at(Writer* w, WriteOp* op, int fault, const uint8_t* text, int64_t size) noexcept nogil:
    w.text = text
    return halt(w, op, fault, size)


cdef uint8_t* make_room(Writer* w, uint8_t* p, int64_t need) noexcept nogil:
    """Grow the buffer, and return the same position in it."""
    cdef int64_t used, size
    cdef uint8_t* made = NULL
    if not w.staged:
        used = p - w.base
        size = max(2 * (w.end - w.base), used + need + LEAST_BYTES)
        made = <uint8_t*>sns_resized(w.base, size)
    if made is NULL:
        return halt(w, NULL, NO_MEMORY)
    w.base, w.end = made, made + size
    return made + used


cdef inline uint8_t* room(Writer* w, uint8_t* p, int64_t need) noexcept nogil:
    return p if likely(w.end - p >= need) else make_room(w, p, need)


cdef inline uint8_t* put_whole(uint8_t* p, int64_t value) noexcept nogil:
    return sns_put_varint(p, sns_zigzag(value))


# --- one run of values: the fields of a record, the items of a list, or a single value --------------------------------

cdef uint8_t* write_values(WriteOp** parts, int64_t count, int stride, int64_t slot, int slot_stride, WriteStep* step,
                           int64_t first, uint8_t* p, Writer* w) noexcept nogil:
    """Encode ``count`` values by ``parts[0]``, ``parts[stride]``, ..., from ``slot``, ``slot + slot_stride``, ..."""
    cdef int64_t i, at, size = 0
    cdef WriteOp* op
    cdef const Source* s
    cdef const uint8_t* data
    for i in range(count):
        op = parts[i * stride]
        s = &w.sources[op.source]
        at = slot + s.slots.offset      # index in the column's buffers
        step.index = first + i
        p = room(w, p, LEAST_ROOM)
        if unlikely(p is NULL):
            return NULL
        if s.slots.valid is not NULL and not is_valid(s.slots.valid, at):
            p = write_null(op, p, w)
        else:
            if op.branch >= 0:
                p = put_whole(p, op.branch)
            if op.kind == WRITE_TEXT or op.kind == WRITE_BYTES:
                data = bytes_at(&s.slots, slot, &size)
                prefetch(data + AHEAD_BYTES)
                prefetch(s.slots.slots + 4 * (at + AHEAD))
                if (likely(<uint64_t>size <= SNS_SHORT and s.slots.limit - data >= SNS_SHORT)
                        and (sns_copy_short(p + 1, data, size) or op.kind == WRITE_BYTES)):
                    p[0] = <uint8_t>(2 * size)          # one byte, since the size is at most 32
                    p += 1 + size
                elif op.kind == WRITE_TEXT:
                    p = write_text(op, data, size, p, w)
                else:
                    p = write_sized(op, data, size, True, p, w)
            elif op.kind == WRITE_LONG:
                prefetch(s.slots.slots + 8 * (at + AHEAD))
                p = put_whole(p, (<const int64_t*>s.slots.slots)[at])
            elif op.kind == WRITE_INT:
                prefetch(s.slots.slots + 4 * (at + AHEAD))
                p = put_whole(p, (<const int32_t*>s.slots.slots)[at])
            elif op.kind == WRITE_WHOLE:
                p = write_whole(op, s, slot, p, w)
            elif op.kind == WRITE_DOUBLE:
                prefetch(s.slots.slots + 8 * (at + AHEAD))
                p = write_double(op, s, slot, p, w)
            elif op.kind == WRITE_FLOAT:
                p = write_float(op, s, slot, p, w)
            elif op.kind == WRITE_BOOLEAN:
                p[0] = s.slots.slots[at >> 3] >> (at & 7) & 1
                p += 1
            elif op.kind == WRITE_ENUM:
                p = write_enum(op, s, slot, p, w)
            elif op.kind == WRITE_DECIMAL:
                p = write_decimal(op, s, slot, p, w)
            else:
                p = write_other(op, s, slot, step, p, w)
        if unlikely(p is NULL):
            return NULL
        slot += slot_stride
    return p


cdef uint8_t* write_other(WriteOp* op, const Source* s, int64_t slot, WriteStep* step, uint8_t* p,
                          Writer* w) noexcept nogil:
    if op.kind == WRITE_RECORD:
        return write_record(op, slot, p, w)
    elif op.kind == WRITE_ARRAY:
        return write_array(op, s, slot, p, w)
    elif op.kind == WRITE_MAP:
        return write_map(op, s, slot, p, w)
    elif op.kind == WRITE_MEMBERS:
        return write_members(op, s, slot, step, p, w)
    elif op.kind == WRITE_EITHER:
        return write_either(op, s, slot, p, w)
    elif op.kind == WRITE_INDEXED:
        return write_indexed(op, s, slot, step, p, w)
    elif op.kind == WRITE_CONSTANT:
        return write_sized(op, op.text, op.size, False, p, w)
    elif op.kind == WRITE_FIXED:
        return write_fixed(op, s, slot, p, w)
    elif op.kind == WRITE_BIG_DECIMAL:
        return write_big_decimal(op, s, slot, p, w)
    elif op.kind == WRITE_NULL:
        return write_null(op, p, w)
    elif op.kind == WRITE_PLAIN:
        return write_plain(op, s, slot, p, w)
    return write_uuid(op, s, slot, p, w)


cdef uint8_t* write_null(WriteOp* op, uint8_t* p, Writer* w) noexcept nogil:
    if op.null_branch >= 0:
        return put_whole(p, op.null_branch)
    return p if op.null_branch == NO_BYTES else halt(w, op, NULL_VALUE)


cdef uint8_t* write_indexed(WriteOp* op, const Source* s, int64_t slot, WriteStep* step, uint8_t* p,
                            Writer* w) noexcept nogil:
    """Encode the dictionary value that the slot's index refers to."""
    cdef int64_t number = 0
    if not load_whole(s, op.load, slot, &number) or number < 0 or number >= s.width:
        return halt(w, op, BAD_INDEX)
    return write_values(op.parts, 1, 0, number, 0, step, step.index, p, w)


# --- leaves -----------------------------------------------------------------------------------------------------------

cdef inline uint8_t* write_whole(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef int64_t value = 0
    return put_whole(p, value) if likely(whole_at(op, s, slot, &value, w)) else NULL


cdef inline bint whole_at(WriteOp* op, const Source* s, int64_t slot, int64_t* out, Writer* w) noexcept nogil:
    """Load a number in Avro's unit; False with a fault if it does not fit."""
    cdef int64_t value = 0
    if unlikely(not load_whole(s, op.load, slot, &value)):
        return halt(w, op, HUGE_NUMBER, value) is not NULL
    if op.by > 1:
        value = floor_div(value, op.by)
    elif op.times != 1:
        if unlikely(not to_avros_unit(op, &value)):
            return halt(w, op, BAD_UNIT if op.times > 1 else TOO_FINE, value) is not NULL
    if unlikely(value < op.low or value > op.high):
        return halt(w, op, OUT_OF_RANGE, value) is not NULL
    out[0] = value
    return True


cdef inline bint to_avros_unit(WriteOp* op, int64_t* value) noexcept nogil:
    """Convert a number to Avro's unit; False if it is too large, or not a multiple of the grain."""
    if op.times > 1:
        if unlikely(not -op.most <= value[0] <= op.most):
            return False
        value[0] *= op.times
        return True
    if unlikely(value[0] % op.grain != 0):
        return False
    value[0] = floor_div(value[0], op.exact_by)
    return True


cdef uint8_t* write_either(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef uint8_t* done
    cdef int i
    for i in range(op.count):
        done = write_whole(op.parts[i], s, slot, put_whole(p, op.parts[i].branch), w)
        if done is not NULL:
            w.fault = NO_FAULT
            return done
    return NULL


cdef inline uint8_t* write_double(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef double value = 0
    if unlikely(not load_real(s, op.load, slot, &value)):
        return halt(w, op, LOSSY, slot)
    sns_put_double(p, value)
    return p + 8


cdef inline uint8_t* write_float(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef double value = 0
    cdef float narrow
    if op.load == LOAD_FLOAT:           # not by way of a double, which changes a signalling NaN
        sns_put_float(p, (<const float*>s.slots.slots)[s.slots.offset + slot])
        return p + 4
    if unlikely(not load_real(s, op.load, slot, &value)):
        return halt(w, op, LOSSY, slot)
    narrow = <float>value
    if unlikely(isinf(narrow) and not isinf(value)):
        w.real = value
        return halt(w, op, HUGE_FLOAT)
    if unlikely(op.load != LOAD_DOUBLE and <double>narrow != value):
        return halt(w, op, LOSSY, slot)
    sns_put_float(p, narrow)
    return p + 4


cdef inline uint8_t* write_sized(WriteOp* op, const uint8_t* data, int64_t size, bint counted, uint8_t* p,
                                 Writer* w) noexcept nogil:
    """Write bytes, with their length first if ``counted``. Short data needs no check: LEAST_ROOM is free."""
    if unlikely(<uint64_t>size > SHORT):        # unsigned, since a signed comparison would take more instructions
        p = room(w, p, size + LEAST_ROOM)
        if unlikely(p is NULL):
            return NULL
    if counted:
        p = put_whole(p, size)
    sns_copy(p, data, size)
    return p + size


cdef uint8_t* write_text(WriteOp* op, const uint8_t* data, int64_t size, uint8_t* p, Writer* w) noexcept nogil:
    if size > SHORT:
        p = room(w, p, size + LEAST_ROOM)
        if unlikely(p is NULL):
            return NULL
    p = put_whole(p, size)
    if unlikely(not sns_copy_utf8(p, data, size)):
        return halt_at(w, op, BAD_TEXT, data, size)
    return p + size


cdef uint8_t* write_fixed(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef int64_t size = 0
    cdef const uint8_t* data = bytes_at(&s.slots, slot, &size)
    if size != op.size:
        return halt(w, op, BAD_SIZE, size)
    return write_sized(op, data, size, False, p, w)


cdef uint8_t* write_enum(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef int64_t size = 0
    cdef const uint8_t* text = bytes_at(&s.slots, slot, &size)
    cdef uint32_t at = sns_hash(text, size) & op.mask
    cdef int32_t found
    while True:
        found = op.table[at]
        if unlikely(found < 0):
            return halt_at(w, op, NO_SYMBOL, text, size)
        if op.symbols[found].size == size and sns_same_bytes(op.symbols[found].text, text, size):
            return put_whole(p, found)
        at = (at + 1) & op.mask


cdef uint8_t* write_uuid(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    """Encode a UUID from text of any form, or 16 bytes, as text of the usual form, or 16 bytes."""
    cdef uint8_t raw[16]
    cdef int64_t size = 0
    cdef const uint8_t* text = bytes_at(&s.slots, slot, &size)
    if op.size == 16 and size == 16:
        memcpy(raw, text, 16)
    elif op.size == 16 or ((size != 36 or not sns_parse_uuid(raw, text)) and not unusual_uuid(raw, text, size)):
        return halt_at(w, op, BAD_UUID, text, size)
    if op.kind == WRITE_UUID_FIXED:
        memcpy(p, raw, 16)
        return p + 16
    p = put_whole(p, 36)
    sns_put_uuid(p, raw)
    return p + 36


cdef uint8_t* write_decimal(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    p = room(w, p, max(op.size, <Py_ssize_t>0) + LEAST_ROOM)
    return NULL if p is NULL else put_decimal(op, s, slot, p, w)


cdef inline uint8_t* put_decimal(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    """As write_decimal(), where there is room."""
    cdef sns_int128 number = sns_load_int128(s.slots.slots + 16 * (slot + s.slots.offset))
    cdef int size
    if op.shift != 0 and number.low | number.high:
        if op.shift < 0 and not sns_shift_right(&number, -op.shift):
            return halt(w, op, LOSSY_DECIMAL)
        if op.shift > 0 and not sns_shift_left(&number, op.shift, TENS):
            return halt(w, op, LONG_DECIMAL)
    if unlikely(not sns_within(number, TENS[op.precision])):
        return halt(w, op, LONG_DECIMAL)
    if op.size >= 0:
        sns_put_big_endian(p, number, op.size)
        return p + op.size
    if likely(number.high + (number.low >> 63) == 0):           # 64 bits are enough
        size = sns_put_short_big_endian(p + 1, <int64_t>number.low)
    else:
        size = sns_int128_size(number)
        sns_put_big_endian(p + 1, number, size)
    p[0] = <uint8_t>(2 * size)
    return p + 1 + size


cdef uint8_t* write_big_decimal(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    """Write the bytes of a big-decimal (unscaled number, then scale) as they are, after checking them."""
    cdef int64_t size = 0
    cdef const uint8_t* data = bytes_at(&s.slots, slot, &size)
    cdef const uint8_t* end = data + size
    cdef uint64_t value = 0
    cdef const uint8_t* at = sns_get_varint(data, end, &value)
    if at is NULL or value & 1 or value == 0 or value >> 1 > <uint64_t>min(end - at, MAX_DECIMAL_BYTES):
        return halt(w, op, BAD_BIG_DECIMAL)
    at = sns_get_varint(at + (value >> 1), end, &value)
    if at is not end or value > 0xFFFFFFFFUL:
        return halt(w, op, BAD_BIG_DECIMAL)
    return write_sized(op, data, size, True, p, w)


# --- containers -------------------------------------------------------------------------------------------------------

cdef inline WriteStep* enter_write(WriteOp* op, Writer* w) noexcept nogil:
    cdef WriteStep* step
    if unlikely(w.depth >= w.max_depth):
        halt(w, op, TOO_DEEP)
        return NULL
    step = &w.steps[w.depth]
    step.op, step.index, step.key, step.key_size = op, -1, NULL, -1
    w.depth += 1
    return step


cdef uint8_t* write_record(WriteOp* op, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef WriteStep* step = enter_write(op, w)
    if step is NULL:
        return NULL
    # The offset of a struct is already part of its children's offsets.
    p = write_values(op.parts, op.count, 1, slot, 0, step, 0, p, w)
    if p is not NULL:
        w.depth -= 1
    return p


cdef uint8_t* write_array(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef WriteStep* step = enter_write(op, w)
    cdef int64_t first = 0, count = 0
    if step is NULL:
        return NULL
    list_at(s, op.load, slot, &first, &count)
    if count:
        p = write_values(op.parts, count, 0, first, 1, step, 0, put_whole(p, count), w)
        if p is NULL:
            return NULL
    return end_blocks(p, w)


cdef uint8_t* write_map(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef WriteStep* step = enter_write(op, w)
    cdef int64_t first = 0, count = 0, i
    if step is NULL:
        return NULL
    list_at(s, op.load, slot, &first, &count)
    if count:
        p = put_whole(p, count)
        for i in range(first, first + count):
            p = write_values(op.parts, 1, 0, i, 0, step, 0, p, w)
            if p is NULL:
                return NULL
            step.key = bytes_at(&w.sources[op.parts[0].source].slots, i, &step.key_size)
            p = write_values(&op.parts[1], 1, 0, i, 0, step, 0, p, w)
            if p is NULL:
                return NULL
    return end_blocks(p, w)


cdef uint8_t* end_blocks(uint8_t* p, Writer* w) noexcept nogil:
    w.depth -= 1
    p = room(w, p, 1)
    if p is not NULL:
        p[0] = 0
        p += 1
    return p


cdef uint8_t* write_members(WriteOp* op, const Source* s, int64_t slot, WriteStep* step, uint8_t* p,
                            Writer* w) noexcept nogil:
    cdef const Source* member
    cdef int i, taken = -1
    for i in range(op.count):
        member = &w.sources[op.parts[i].source]
        if has_value(op.parts[i], member, slot):
            if taken >= 0:
                return halt(w, op, TWO_MEMBERS)
            taken = i
    if taken < 0:
        return write_null(op, p, w)
    return write_values(&op.parts[taken], 1, 0, slot, 0, step, step.index, p, w)


cdef inline bint has_value(WriteOp* op, const Source* s, int64_t slot) noexcept nogil:
    return op.load != LOAD_NOTHING and is_valid(s.slots.valid, s.slots.offset + slot)
