# Arrays, maps, bytes and numbers from other objects than Python's own: sequences, mappings, buffers, numpy's scalars.
#
# Their code runs here, so what it gives is checked, and never more of it is taken than it said there would be.

cdef tuple BOOLEANS = ("bool", "bool_")             # numpy's names of what is no bool of Python
cdef tuple TIMES = ("datetime64", "timedelta64")    # these turn into a float, but of a unit that nobody sees
cdef object DICT_GET = dict.get
cdef object DICT_ITEMS = dict.items


cdef bint is_numpy(object value, tuple names) except -1:
    return type(value).__name__ in names and type(value).__module__ == "numpy"


cdef int64_t as_long_slow(object value, str what) except? -1:
    """Subclasses of int, and what has __index__ (numpy's integers); a bool is none."""
    cdef int64_t out = 0
    cdef int state
    if PyBool_Check(value) or not PyIndex_Check(value):
        return expected(what, value)
    index = PyNumber_Index(value)
    state = sns_as_int64(index, &out)
    if state:
        return out_of_range(index, what)
    return out


cdef double as_double_slow(object value, str what) except? -1:
    """Subclasses of float, ints that lose nothing, and what has __float__ (numpy's floats)."""
    cdef double out
    if PyFloat_Check(value):
        return PyFloat_AsDouble(value)
    if PyBool_Check(value) or is_numpy(value, BOOLEANS) or is_numpy(value, TIMES):
        expected(what, value)
    if PyIndex_Check(value):
        value = PyNumber_Index(value)
        try:
            out = PyLong_AsDouble(value)
        except OverflowError:
            raise EncodeError(f"{what} out of range: {shorten(value)}") from None
        if out != value or (what == "float" and <double><float>out != out):
            raise EncodeError(f"a {what} cannot hold {shorten(value)} without loss")
        return out
    if isinstance(value, Decimal) or not hasattr(type(value), "__float__"):
        expected(what, value)
    return PyFloat_AsDouble(value)


cdef int view_bytes(object value, Py_buffer* view) except -1:
    """Fill ``view``, to be released: bytearray, memoryview, arrays of bytes. Numbers in memory are no bytes."""
    if not PyObject_CheckBuffer(value) or not hasattr(type(value), "__len__"):
        return expected("bytes", value, "encode text first: text.encode()" if isinstance(value, str) else None)
    try:
        PyObject_GetBuffer(value, view, PyBUF_ND | PyBUF_FORMAT)
    except (BufferError, ValueError) as error:      # in pieces, or released
        raise EncodeError(f"expected bytes that can be read: {words_of(error)}") from None
    if view.itemsize != 1 or (view.format is not NULL and view.format[0] not in b"Bbc"):
        PyBuffer_Release(view)
        expected("bytes", value, "its items are no bytes; give value.tobytes() if its memory is meant")
    return 0


cdef bint is_sequence(object value) except -1:
    """Whether it has items in an order. pandas' DataFrame, which gives its columns' names, has none."""
    cdef object type_ = type(value)
    if isinstance(value, (str, bytes, bytearray, memoryview, dict)) or not hasattr(type_, "__len__") \
            or not hasattr(type_, "__getitem__") or field_names(value) is not None:
        return False
    return hasattr(type_, "tolist") or not (hasattr(type_, "keys") or isinstance(value, Mapping))


cdef list as_list(object value):
    """Tuples, numpy's and pandas' arrays, and other sequences; what has no order or can be read once only is none."""
    cdef Py_ssize_t count
    cdef list out
    if not is_sequence(value):
        type_ = type(value)
        loose = hasattr(type_, "__iter__") and not hasattr(type_, "keys") and not isinstance(value, (str, bytes))
        expected("array", value, "give list(value) for the items of what can be iterated over" if loose else None)
    count = len(value)
    if hasattr(type(value), "tolist") and getattr(getattr(value, "dtype", None), "kind", None) in ("b", "i", "u", "f"):
        value = value.tolist()      # Python's own numbers at once, ten times as fast as one by one
    out = list(islice(value, min(count, PY_SSIZE_T_MAX - 1) + 1))
    if len(out) != count:
        lies(count, len(out))
    return out


cdef object as_dict(object value):
    """Any mapping; a dict's subclass as it is stored, unless it has items() of its own."""
    cdef Py_ssize_t count
    cdef dict out
    if PyDict_Check(value) and type(value).items is DICT_ITEMS:
        return value
    if not isinstance(value, Mapping):
        expected("map", value)
    count = len(value)
    out = dict(islice(value.items(), min(count, PY_SSIZE_T_MAX - 1) + 1))
    if len(out) != count:
        lies(count, len(out))
    return out


cdef int lies(Py_ssize_t said, Py_ssize_t got) except -1:
    raise EncodeError(f"by its length it has {said} different items, but it gives {'more' if got > said else got}")


cdef bint is_stored_dict(object value) except -1:
    """A dict's subclass that is asked in vain: what its get() finds is what it stores."""
    return PyDict_Check(value) and type(value).get is DICT_GET
