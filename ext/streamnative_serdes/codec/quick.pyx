# Fast path for the most common leaf types: no function call and no error handling.
#
# It reads a value of a common type that is complete and within bounds. For everything else, from non-ASCII text to a
# truncated message, it reads nothing, and the caller goes on to read_value, which handles all cases and all errors. So
# nothing here raises, and only rare values are read twice. In the same way it writes values of Python's own types, and
# leaves all others to write_value. No user code runs here, so values are borrowed.

ctypedef PyObject* Plan

cdef enum:
    QUICK_BYTES = 11            # that the index of a branch and any number take at most


cdef inline bint write_quickly(Plan node, Writer* w, PyObject* value) noexcept:
    """Write ``value`` and return True; or return False with nothing written."""
    cdef uint8_t* p = w.p
    cdef Py_ssize_t left = w.end - p - QUICK_BYTES
    cdef int kind = (<Node>node).kind
    cdef int64_t number = 0
    if unlikely(left < 0):
        return False
    if kind == OPTIONAL:
        if value is Py_None:
            p[0] = <uint8_t>((<OptionalNode>node).null_index << 1)
            w.p = p + 1
            return True
        p[0] = <uint8_t>((1 - (<OptionalNode>node).null_index) << 1)
        p += 1
        node = <Plan>(<OptionalNode>node).inner
        kind = (<Node>node).kind
    if kind == STRING:
        if not PyUnicode_CheckExact(<object>value) or not PyUnicode_IS_COMPACT_ASCII(<object>value):
            return False
        number = PyUnicode_GET_LENGTH(<object>value)
        if number > left:
            return False
        p = sns_put_varint(p, sns_zigzag(number))
        sns_copy(p, sns_ascii(<object>value), number)
        p += number
    elif kind == LONG:
        if not PyLong_CheckExact(<object>value) or try_as_int64(value, &number):
            return False
        p = sns_put_varint(p, sns_zigzag(number))
    elif kind == INT:
        if not PyLong_CheckExact(<object>value) or try_as_int64(value, &number) or number != <int32_t>number:
            return False
        p = sns_put_varint(p, sns_zigzag(number))
    elif kind == DOUBLE:
        if not PyFloat_CheckExact(<object>value):
            return False
        sns_put_double(p, PyFloat_AS_DOUBLE(<object>value))
        p += 8
    elif kind == BOOLEAN:
        if value is not Py_True and value is not Py_False:
            return False
        p[0] = value is Py_True
        p += 1
    else:
        return False
    w.p = p
    return True


cdef inline PyObject* read_quickly(Plan node, Reader* r) noexcept:
    """Return a new reference to the next value; or NULL with no exception set and nothing read."""
    cdef const uint8_t* p = r.p
    cdef const uint8_t* end = r.end
    cdef int kind = (<Node>node).kind
    cdef uint64_t number = 0
    cdef PyObject* made = NULL
    cdef sns_moment moment
    if kind == OPTIONAL:
        if p == end or p[0] & ~2:
            return NULL
        if p[0] >> 1 == (<OptionalNode>node).null_index:
            r.p = p + 1
            return sns_new_ref(Py_None)
        p += 1
        node = <Plan>(<OptionalNode>node).inner
        kind = (<Node>node).kind
    if kind == STRING:
        p = sns_get_varint(p, end, &number)
        if p is not NULL and not number & 1 and number >> 1 <= <uint64_t>(end - p):
            made = sns_new_ascii(p, number >> 1)
            p += number >> 1
    elif kind == LONG:
        p = sns_get_varint(p, end, &number)
        if p is not NULL:
            made = sns_if_made(PyLong_FromLongLong(sns_unzigzag(number)))
    elif kind == INT:
        p = sns_get_varint(p, end, &number)
        if p is not NULL and number <= 0xFFFFFFFFUL:
            made = sns_if_made(PyLong_FromLongLong(sns_unzigzag(number)))
    elif kind == DOUBLE:
        if end - p >= 8:
            made = sns_if_made(PyFloat_FromDouble(sns_get_double(p)))
            p += 8
    elif kind == BOOLEAN:
        if p < end and p[0] <= 1:
            made = sns_new_ref(Py_True if p[0] else Py_False)
            p += 1
    elif kind == FLOAT:
        if end - p >= 4:
            made = sns_if_made(PyFloat_FromDouble(sns_get_float(p)))
            p += 4
    elif kind == TIMESTAMP:
        p = sns_get_varint(p, end, &number)
        if p is not NULL and moment_of(&moment, sns_unzigzag(number), (<Node>node).micros):
            made = sns_if_made(try_new_datetime(&moment, <PyObject*>UTC))
    elif kind == ENUM:
        p = sns_get_varint(p, end, &number)
        if p is not NULL and not number & 1 and number >> 1 < <uint64_t>tuple_size(<PyObject*>(<EnumNode>node).symbols):
            made = sns_new_ref(tuple_item(<PyObject*>(<EnumNode>node).symbols, number >> 1))
    elif kind == DECIMAL:
        return read_small_decimal(node, r, p)
    if made is not NULL:
        r.p = p
    return made
