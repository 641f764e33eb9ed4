# Encodes a Python datum as Avro bytes by a plan.
#
# User code may run during encoding: __index__, __float__, properties, Mapping methods. It may change the dict or list
# that is being iterated. So each value is kept alive by its own reference while it is written (not in write_quickly,
# which runs no user code), and sizes are compared again at the end. PyDict_Next is safe on a dict that has changed,
# since it checks its position each time. Other threads may do the same where there is no GIL: there the dict or list is
# locked (write_locked), which CPython suspends at the same places, where user code may run.

ctypedef int (*Write)(PyObject*, Writer*, object) noexcept


cdef int write_value(PyObject* node, Writer* w, object value) except -1:
    """Write ``value``. ``node`` is borrowed from the plan, which outlives the call: counting references costs 5 %."""
    cdef int kind = (<Node>node).kind
    if kind == OPTIONAL:        # inline: most fields are optional, and each call takes stack
        if put_is_null((<OptionalNode>node).null_index, w, value):
            return 0
        if unlikely(may_name_branch(value)):
            if PyTuple_CheckExact(value):
                return write_optional_tuple(<OptionalNode>node, w, value)
            if has_more_keys(<PyObject*>(<OptionalNode>node).inner, value):
                check_hint(<OptionalNode>node, value)
        node = <PyObject*>(<OptionalNode>node).inner
        kind = (<Node>node).kind
    if kind == STRING:
        return put_text(w, value)
    elif kind == LONG:
        return put_long(w, as_number(w, value, "long"))
    elif kind == INT:
        return write_int(w, value)
    elif kind == DOUBLE:
        room(w, 8)
        sns_put_double(w.p, as_double(w, value, "double"))
        w.p += 8
        return 0
    elif kind == RECORD:
        if likely(PyDict_CheckExact(value)):
            return write_dict(<RecordNode>node, w, value) if FREE_THREADED else write_record(<RecordNode>node, w, value)
        return write_other_record(<RecordNode>node, w, value)
    elif kind == BOOLEAN:
        return write_boolean(w, value)
    elif kind == ENUM:
        return write_enum(<EnumNode>node, w, value)
    elif kind == ARRAY:
        return write_list(<ArrayNode>node, w, value) if FREE_THREADED else write_array(<ArrayNode>node, w, value)
    elif kind == MAP:
        return write_entries(<MapNode>node, w, value) if FREE_THREADED else write_map(<MapNode>node, w, value)
    elif kind == BYTES:
        return write_bytes(w, value, -1)
    elif kind == FLOAT:
        return write_float(w, value)
    elif kind == FIXED:
        return write_bytes(w, value, (<Node>node).size)
    elif kind == NULL_KIND:
        return 0 if value is None else expected("null", value)
    elif kind == UNION:
        return write_union(<UnionNode>node, w, value)
    return write_logical(<Node>node, w, value)


cdef int expected(str what, object value, str hint=None) except -1:
    raise EncodeError(f"expected {what}, got {described(value)}", hint=hint_of(value, hint))


# --- leaves -----------------------------------------------------------------------------------------------------------

cdef int put_text(Writer* w, object value) except -1:
    if unlikely(not PyUnicode_Check(value)):
        expected("string", value)
    if likely(PyUnicode_IS_COMPACT_ASCII(value)):
        return put_sized(w, sns_ascii(value), PyUnicode_GET_LENGTH(value))
    return put_other_text(w, value)


cdef int put_other_text(Writer* w, object value) except -1:
    """Write text that is not ASCII: first its size in UTF-8."""
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(value)
    cdef int kind = PyUnicode_KIND(value)
    cdef const void* data = PyUnicode_DATA(value)
    cdef Py_ssize_t size = sns_utf8_size(kind, data, length)
    if size < 0:
        raise EncodeError("expected text that UTF-8 can encode, got a string with a lone surrogate")
    put_long(w, size)
    room(w, size)
    w.p = sns_put_utf8(w.p, kind, data, length)
    return 0


cdef inline int64_t as_long(object value, str what) except? -1:
    cdef int64_t out = 0
    if likely(PyLong_CheckExact(value)):
        if likely(sns_as_int64(value, &out) == 0):
            return out
        return out_of_range(value, what)
    return as_long_slow(value, what)


cdef inline int64_t as_number(Writer* w, object value, str what) except? -1:
    """As as_long, for plain int and long, where leniency allows a bool; logical types never accept one."""
    cdef int64_t out = 0
    if likely(PyLong_CheckExact(value)):
        if likely(sns_as_int64(value, &out) == 0):
            return out
        return out_of_range(value, what)
    if w.lenient and PyBool_Check(value):
        return value is True
    return as_long_slow(value, what)


cdef int64_t out_of_range(object value, str what) except? -1:
    bits = 32 if what == "int" else 64
    raise EncodeError(f"{what} out of range: {shorten(value)} does not fit {bits} bits")


cdef inline int write_boolean(Writer* w, object value) except -1:
    cdef bint flag = value is True
    if unlikely(not flag and value is not False):
        if not is_numpy(value, BOOLEANS):
            expected("boolean", value)
        flag = bool(value)
    return put_byte(w, flag)


cdef inline int write_int(Writer* w, object value) except -1:
    cdef int64_t number = as_number(w, value, "int")
    if unlikely(number != <int32_t>number):
        out_of_range(value, "int")
    return put_long(w, number)


cdef inline double as_double(Writer* w, object value, str what) except? -1:
    if likely(PyFloat_CheckExact(value)):
        return PyFloat_AS_DOUBLE(value)
    if w.lenient and PyBool_Check(value):
        return value is True
    return as_double_slow(value, what)


cdef int write_float(Writer* w, object value) except -1:
    cdef double wide = as_double(w, value, "float")
    cdef float narrow = <float>wide
    if isinf(narrow) and not isinf(wide):
        raise EncodeError(f"float out of range: {shorten(value)} does not fit 32 bits")
    room(w, 4)
    sns_put_float(w.p, narrow)
    w.p += 4
    return 0


cdef int write_bytes(Writer* w, object value, Py_ssize_t size) except -1:
    """Write bytes (``size`` -1), or a fixed of ``size`` bytes."""
    cdef Py_buffer view
    if PyBytes_Check(value):
        return put_bytes(w, PyBytes_AS_STRING(<PyObject*>value), PyBytes_GET_SIZE(value), size)
    view_bytes(value, &view)
    try:
        return put_bytes(w, view.buf, view.len, size)
    finally:
        PyBuffer_Release(&view)


cdef int put_bytes(Writer* w, const void* data, Py_ssize_t got, Py_ssize_t size) except -1:
    if size < 0:
        return put_sized(w, data, got)
    if got != size:
        raise EncodeError(f"expected exactly {size} bytes, got {got}")
    return put_raw(w, data, got)


cdef int write_enum(EnumNode node, Writer* w, object value) except -1:
    cdef Py_ssize_t number = symbol_number(node, value)
    if number < 0:
        no_symbol(node, value)
    return put_long(w, number)


cdef Py_ssize_t symbol_number(EnumNode node, object value) except -2:
    """Return the index of the symbol, or -1. An enum.Enum member counts by its name, or else by its value."""
    cdef PyObject* hit = NULL
    if node.members is not None and type(value) is node.shape.cls:
        hit = dict_item(<PyObject*>node.members, id(value))
    elif not PyUnicode_CheckExact(value) and isinstance(value, PyEnum):
        name = value.name
        hit = dict_item(<PyObject*>node.index, name)
        if hit is NULL:
            value = value.value
    if hit is NULL and PyUnicode_Check(value):
        hit = dict_item(<PyObject*>node.index, value)
    return -1 if hit is NULL else <Py_ssize_t><object>hit


cdef int no_symbol(EnumNode node, object value) except -1:
    if isinstance(value, PyEnum):
        value = f"{type(value).__name__}.{value.name}"
    if not PyUnicode_Check(value):
        return expected(f"a symbol of {node.label}", value)
    raise EncodeError(f"{shorten(PyUnicode_FromObject(value))} is not a symbol of {node.label}",
                      hint=f"its symbols are {', '.join(node.symbols[:MAX_NAMES_IN_ERROR])}")


# --- containers -------------------------------------------------------------------------------------------------------

cdef int write_array(ArrayNode node, Writer* w, object value) except -1:
    cdef Py_ssize_t i, count
    cdef Step* step = enter_write(w, node)
    cdef PyObject* item = <PyObject*>node.item
    if PyTuple_CheckExact(value):
        value = list(value)
    elif not PyList_Check(value):
        value = as_list(value)
    count = PyList_GET_SIZE(value)
    if count:
        put_long(w, count)
        for i in range(count):
            step.index = i
            if i >= PyList_GET_SIZE(value):
                break
            if not write_quickly(item, w, PyList_GET_ITEM(value, i)):
                one = <object>PyList_GET_ITEM(value, i)
                write_value(item, w, one)
        if PyList_GET_SIZE(value) != count:
            raise EncodeError("the list changed size during encoding")
    w.depth -= 1
    return put_byte(w, 0)


cdef int write_map(MapNode node, Writer* w, object value) except -1:
    cdef Py_ssize_t position = 0, written = 0, count
    cdef PyObject* key = NULL
    cdef PyObject* item = NULL
    cdef Step* step = enter_write(w, node)
    if not PyDict_CheckExact(value):
        value = as_dict(value)
    count = PyDict_Size(value)
    if count:
        put_long(w, count)
        while PyDict_Next(value, &position, &key, &item):
            name, one = <object>key, <object>item
            if not PyUnicode_Check(name):
                expected("a string as map key", name)
            Py_INCREF(name)
            Py_XSETREF(step.key, <PyObject*>name)
            put_text(w, name)
            if not write_quickly(<Plan>node.item, w, <PyObject*>one):
                write_value(<Plan>node.item, w, one)
            written += 1
        if written != count or PyDict_Size(value) != count:
            raise EncodeError("the dict changed size during encoding")
        Py_CLEAR(step.key)
    w.depth -= 1
    return put_byte(w, 0)


cdef int write_record(RecordNode node, Writer* w, object value) except -1:
    """Write a record from a dict, or from a dict subclass for which is_stored_dict holds."""
    cdef Py_ssize_t i, position = 0, count = node.count
    cdef PyObject* key = NULL
    cdef PyObject* item = NULL
    cdef FieldPlan* field = node.fields
    cdef bint in_step = True
    cdef Step* step
    if unlikely(node.closed):
        refuse_unknown_keys(node, value)
    step = enter_write(w, node)
    for i in range(count):
        step.index = i
        # Most dicts hold their keys in the order of the fields: comparing pointers then avoids the hash lookup.
        if in_step:
            in_step = PyDict_Next(value, &position, &key, &item) and sns_same_text(key, field.name)
        if not in_step and FREE_THREADED:
            item = sns_item(value, <object>field.name)      # a look-up may suspend our lock, so not borrowed
            one = None if item is NULL else given(item)
        elif not in_step:
            item = PyDict_GetItemWithError(value, <object>field.name)
        if unlikely(item is NULL):
            write_missing(node, w, i)
        elif not write_quickly(field.node, w, item):
            one = <object>item
            write_value(field.node, w, one)
        field += 1
    w.depth -= 1
    return 0


# Without a GIL another thread may change a dict or list meanwhile. These lock it, and write it as above.

cdef int write_list(ArrayNode node, Writer* w, object value) except -1:
    if not PyList_Check(value):
        value = list(value) if PyTuple_CheckExact(value) else as_list(value)
    return write_locked(try_write_array, <PyObject*>node, w, value)


cdef int write_entries(MapNode node, Writer* w, object value) except -1:
    if not PyDict_CheckExact(value):
        value = as_dict(value)
    return write_locked(try_write_map, <PyObject*>node, w, value)


cdef int write_dict(RecordNode node, Writer* w, object value) except -1:
    return write_locked(try_write_record, <PyObject*>node, w, value)


cdef int write_locked(Write write, PyObject* node, Writer* w, object value) except -1:
    cdef sns_section section
    cdef int failed
    sns_enter(&section, value)
    failed = write(node, w, value)          # returns normally, errors included
    sns_exit(&section)
    return sns_reraise() if failed else 0


cdef int write_missing(RecordNode node, Writer* w, Py_ssize_t i) except -1:
    missing = node.missing[i]
    if missing is None:
        raise EncodeError(node.faults[i])
    return put_raw(w, PyBytes_AS_STRING(<PyObject*>missing), PyBytes_GET_SIZE(missing))


# --- the whole datum --------------------------------------------------------------------------------------------------

# The same functions, for callers that check the result themselves.
cdef Write try_write = <Write><void*>write_value
cdef Write try_write_record = <Write><void*>write_record
cdef Write try_write_array = <Write><void*>write_array
cdef Write try_write_map = <Write><void*>write_map


cdef bytes encode_message(Node root, const Limits* limits, object datum, const char* header, Py_ssize_t header_size):
    """Return ``header`` (at most 16 bytes) followed by the encoded datum."""
    cdef int* under_way = &sns_encoding
    cdef uint8_t stack[STACK_BYTES]
    cdef Step steps[MAX_DEPTH]
    cdef Writer w
    cdef int failed
    w.base = stack
    w.p = stack + header_size
    w.end = stack + STACK_BYTES
    w.result = NULL
    w.lenient = w.local_time = limits.lenient
    w.too_deep = False
    w.opened = 0
    w.waste_left = WASTE_BUDGET
    w.depth = 0
    w.steps = steps_for(limits, steps)
    sns_copy(stack, <const uint8_t*>header, header_size)
    # All uses of under_way follow each other: in a shared library each may be a call that looks for this thread's.
    if unlikely(under_way[0] >= MAX_NESTED_CALLS):
        give_back(w.steps, steps)
        raise EncodeError(f"calls of encode are nested more than {MAX_NESTED_CALLS} levels deep: "
                          "encoding the value encodes others")
    # Nested encode calls share the C stack, so each gets a quarter of the depth of the one around it.
    w.max_depth = max(limits.depth >> (2 * under_way[0]), 1)
    under_way[0] += 1
    failed = try_write(<PyObject*>root, &w, datum)      # a try block would add a tenth to a small message
    under_way[0] -= 1
    if unlikely(failed):
        fail_to_encode(&w, steps)
    give_back(w.steps, steps)
    return finish(&w)


cdef int fail_to_encode(Writer* w, Step* steps) except -1:
    """Raise the current exception with the path of the field where it occurred."""
    try:
        return sns_reraise()
    except EncodeError as error:
        error.path = path_of(w.steps, w.depth)
        raise
    except (MemoryError, RecursionError):
        raise
    except Exception as error:      # from user code: a property, __index__, a Mapping method
        raise EncodeError(f"reading the value raised {type(error).__name__}: {words_of(error)}",
                          path=path_of(w.steps, w.depth)) from error
    finally:
        Py_CLEAR(w.result)
        leave_to(w.steps, &w.depth, 0)
        give_back(w.steps, steps)
