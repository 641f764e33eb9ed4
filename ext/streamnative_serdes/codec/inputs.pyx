# Accepts arrays, maps, bytes and numbers that are not of Python's built-in types: sequences, mappings, buffers, numpy.
#
# Their code runs here, so its results are checked, and iteration stops after as many items as len() reported.

cdef tuple BOOLEANS = ("bool", "bool_")             # numpy's boolean types
cdef tuple TIMES = ("datetime64", "timedelta64")    # they convert to float, but in a unit that the caller cannot see
cdef object DICT_GET = dict.get
cdef object DICT_ITEMS = dict.items


cdef bint is_numpy(object value, tuple names) except -1:
    return type(value).__name__ in names and type(value).__module__ == "numpy"


cdef int64_t as_long_slow(object value, str what) except? -1:
    """Accept subclasses of int and types with __index__ (numpy integers), but not bool."""
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
    """Accept subclasses of float, ints that convert without loss, and types with __float__ (numpy floats)."""
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
    """Fill ``view`` from a bytearray, memoryview or array of bytes, not of numbers; the caller releases it."""
    if not PyObject_CheckBuffer(value) or not hasattr(type(value), "__len__"):
        return expected("bytes", value, "encode text first: text.encode()" if isinstance(value, str) else None)
    try:
        PyObject_GetBuffer(value, view, PyBUF_ND | PyBUF_FORMAT)
    except (BufferError, ValueError) as error:      # not contiguous, or released
        raise EncodeError(f"expected a readable buffer, got {type(value).__name__}: {words_of(error)}") from None
    if view.itemsize != 1 or (view.format is not NULL and view.format[0] not in b"Bbc"):
        PyBuffer_Release(view)
        expected("bytes", value, "its items are not bytes; pass value.tobytes() to write its raw memory")
    return 0


cdef bint is_sequence(object value) except -1:
    """Whether ``value`` is an ordered sequence. A pandas DataFrame is not: it iterates over its column names."""
    cdef object type_ = type(value)
    if isinstance(value, (str, bytes, bytearray, memoryview, dict)) or not hasattr(type_, "__len__") \
            or not hasattr(type_, "__getitem__") or field_names(value) is not None:
        return False
    return hasattr(type_, "tolist") or not (hasattr(type_, "keys") or isinstance(value, Mapping))


cdef list as_list(object value):
    """Accept tuples, numpy and pandas arrays and other sequences, but not sets or iterators."""
    cdef Py_ssize_t count
    cdef list out
    if not is_sequence(value):
        type_ = type(value)
        loose = hasattr(type_, "__iter__") and not hasattr(type_, "keys") and not isinstance(value, (str, bytes))
        expected("array", value, "pass list(value) to write the items of an iterable" if loose else None)
    count = len(value)
    if hasattr(type(value), "tolist") and getattr(getattr(value, "dtype", None), "kind", None) in ("b", "i", "u", "f"):
        value = value.tolist()      # converts to Python numbers in one call, ten times as fast as one by one
    out = list(islice(value, min(count, PY_SSIZE_T_MAX - 1) + 1))
    if len(out) != count:
        lies(count, len(out))
    if getattr(getattr(value, "dtype", None), "name", None) == "str":    # of pandas 3: what is missing is a NaN
        out = [None if item != item else item for item in out]
    return out


cdef object as_dict(object value):
    """Accept any mapping; a dict subclass is read as a plain dict unless it overrides items()."""
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
    raise EncodeError(f"len() of the value is {said}, but it has {'more' if got > said else got} distinct items")


cdef bint is_stored_dict(object value) except -1:
    """Whether ``value`` is a dict subclass that does not override get()."""
    return PyDict_Check(value) and type(value).get is DICT_GET
