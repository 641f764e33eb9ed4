# Records that are no dicts: Spark's rows, named tuples, other mappings, dataclasses. User code runs in most of them.

cdef int write_other_record(RecordNode node, Writer* w, object value) except -1:
    """Rows and named tuples by position where the order agrees, mappings by key, dataclasses by attribute."""
    cdef bint local_time = w.local_time
    if isinstance(value, tuple):
        names = getattr(value, "__fields__", None)      # pyspark.sql.Row
        if names is not None:
            w.local_time = True                         # Spark hands out naive datetimes in local time
        else:
            names = getattr(type(value), "_fields", None)       # typing.NamedTuple, collections.namedtuple
        if names is None:
            return expected(node.label, value, "a plain tuple has no field names")
        write_named_items(node, w, <tuple>value, list(names))
        w.local_time = local_time
        return 0
    if isinstance(value, Mapping):
        return write_by(node, w, value.get)
    if hasattr(type(value), "__dataclass_fields__"):
        return write_by(node, w, partial(attribute_of, value))
    return expected(f"a mapping for {node.label}", value, "give to_dict to turn objects into mappings")


def attribute_of(value, name, default):
    """As getattr, but a property that fails is no attribute that is missing."""
    try:
        return getattr(value, name)
    except AttributeError:
        if hasattr(type(value), name) or name in type(value).__dataclass_fields__:
            raise
        return default


cdef int write_named_items(RecordNode node, Writer* w, tuple values, list names) except -1:
    cdef Py_ssize_t i, at, width = min(len(values), len(names))
    cdef dict places = None
    cdef Step* step = enter_write(w, node)
    for i in range(node.count):
        step.index = i
        at = i
        if i >= width or not sns_same_text(<PyObject*>names[i], node.fields[i].name):
            if places is None:
                places = {names[k]: k for k in range(width)}
            at = places.get(<object>node.fields[i].name, -1)
        if at < 0:
            write_missing(node, w, i)
        else:
            write_value(<Node>node.fields[i].node, w, values[at])
    w.depth -= 1
    return 0


cdef int write_by(RecordNode node, Writer* w, object get) except -1:
    """``get(name, default)`` gives each field's value."""
    cdef Py_ssize_t i
    cdef Step* step = enter_write(w, node)
    for i in range(node.count):
        step.index = i
        one = get(<object>node.fields[i].name, ABSENT)
        if one is ABSENT:
            write_missing(node, w, i)
        else:
            write_value(<Node>node.fields[i].node, w, one)
    w.depth -= 1
    return 0
