# Writes records from objects other than dicts: Spark rows, named tuples, dataclasses, other mappings. Most of them run
# user code. Also refuses unknown fields of any record under validate.strict.

cdef object NO_FIELDS = shapes_of_classes.FieldNames()
cdef str TYPE_HINT = "-type"            # key in a dict that names its record, for unions


cdef int write_other_record(RecordNode node, Writer* w, object value) except -1:
    """Write a record from an object: by its shape; rows and named tuples by position where the order agrees;
    other classes by attribute; mappings by get()."""
    cdef PyObject* maker = <PyObject*>node.maker
    if node.maker is not None and is_instance(<PyObject*>value, <PyObject*>node.maker.cls):
        return write_object(node, <Maker>maker, w, value)
    if isinstance(value, tuple):
        return write_row(node, w, <tuple>value)
    if is_stored_dict(value):
        return write_dict(node, w, value) if FREE_THREADED else write_record(node, w, value)
    by_field = values_by_field(node.own_names, value)
    if by_field is not None:
        return write_record(node, w, by_field)
    if is_dataclass(value):
        if node.closed:
            refuse_unknown(node, declared(value))
        return write_by(node, w, value, None)
    if isinstance(value, Mapping):
        if node.closed:
            refuse_unknown(node, value)
        return write_by(node, w, value, value.get)
    return expected(f"a mapping for {node.label}", value, "pass to_dict to turn objects into mappings")


cdef dict values_by_field(object fields, object value):
    """Return the values of an object of a class whose attributes have other names than its fields, or of one that is
    neither a dataclass nor a named tuple but has a schema; None for others."""
    cdef dict attributes = shapes_of_classes.attributes_by_field(type(value), fields), found = {}
    if attributes is None:
        return None
    for field, attribute in attributes.items():
        one = attribute_of(value, attribute)
        if one is not ABSENT:
            found[field] = one
    return found


cdef bint is_dataclass(object value) except -1:
    return hasattr(type(value), "__dataclass_fields__")


cdef list declared(object value):
    """Return the names of a dataclass's fields, without class variables."""
    return [field.name for field in dataclass_fields(value)]


cdef tuple field_names(object value):
    """Return the item names of a Spark row or a named tuple; None for anything else."""
    if not isinstance(value, tuple) or PyTuple_CheckExact(value):
        return None
    names = getattr(value, "__fields__", None)      # pyspark.sql.Row
    if names is None:
        names = getattr(type(value), "_fields", None)
    return names if names is None or type(names) is tuple else tuple(islice(names, len(<tuple>value)))


cdef object attribute_of(object value, object name):
    """Return an attribute, or ABSENT if there is none. A property that raises AttributeError is an error."""
    try:
        return getattr(value, name)
    except AttributeError:
        if hasattr(type(value), name) or name in getattr(type(value), "__dataclass_fields__", ()):
            raise
        return ABSENT


cdef int write_row(RecordNode node, Writer* w, tuple values) except -1:
    cdef bint is_row, local_time = w.local_time
    cdef int missing
    cdef tuple names = field_names(values)
    if names is None:
        return expected(node.label, values, "a plain tuple has no field names")
    is_row = is_spark_row(values)
    by_field = None if is_row else values_by_field(node.own_names, values)
    if by_field is not None:
        return write_record(node, w, by_field)
    if node.closed:
        refuse_unknown(node, names)
    w.local_time = w.lenient or is_row
    missing = write_named_items(node, w, values, names)
    w.local_time = local_time
    if missing and is_row:
        refuse_other_names(node, names)
    return 0


cdef int refuse_other_names(RecordNode node, tuple names) except -1:
    """Refuse a row if columns would be dropped while fields get their defaults: they were probably renamed, or differ
    only in case (Note for note), which Spark ignores."""
    cdef dict others = {name.lower(): name for name in names if type(name) is str and name not in node.known}
    cdef Py_ssize_t i
    for i in range(node.count):
        name = <object>node.fields[i].name
        if name not in names and name.lower() in others:
            column = shorten(others[name.lower()])
            raise EncodeError(f"{node.label} has a field {name}, but the row has a column {column}",
                              hint="rename the column: names in Avro are case-sensitive")
    if node.matched and others:
        text, hint = unmatched(node.label.removeprefix("record "), list(others.values()),
                               [name for name in node.names if name not in names])
        raise EncodeError(text, hint=hint)
    if others and len(others) == len(names):
        columns = ", ".join([shorten(name) for name in list(others.values())[:MAX_NAMES_IN_ERROR]])
        raise EncodeError(f"{node.label} has no field for any of the row's columns {columns}")
    return 0


cdef bint is_spark_row(object value) except -1:
    """Whether ``value`` is a Spark row. Its naive datetimes are local time, and all rows have the class name Row."""
    return isinstance(value, tuple) and getattr(value, "__fields__", None) is not None


cdef int write_named_items(RecordNode node, Writer* w, tuple values, tuple names) except -1:
    """Write the fields from named items. Returns how many fields have no item, if some items have no field; else 0."""
    cdef Py_ssize_t i, at, found = 0, width = min(len(values), len(names))
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
            if node.missing[i] is None and is_spark_row(values):        # an error either way: the clearer one
                step.index = -1
                refuse_other_names(node, names)
                step.index = i
            write_missing(node, w, i)
        else:
            found += 1
            write_value(node.fields[i].node, w, values[at])
    w.depth -= 1
    return 0 if found == width else node.count - found


cdef int write_by(RecordNode node, Writer* w, object value, object get) except -1:
    """Write each field from ``get(name, default)``, or from an attribute if ``get`` is None."""
    cdef Py_ssize_t i
    cdef Step* step = enter_write(w, node)
    for i in range(node.count):
        step.index = i
        one = part_of(value, get, <object>node.fields[i].name)
        if one is ABSENT:
            write_missing(node, w, i)
        else:
            write_value(node.fields[i].node, w, one)
    w.depth -= 1
    return 0


cdef object part_of(object value, object get, object name):
    """Return the value for the field ``name``, or ABSENT. With DICT_GET, ``value`` is read as a plain dict."""
    cdef PyObject* hit
    if get is DICT_GET:
        hit = sns_item(value, name)
        return ABSENT if hit is NULL else given(hit)
    return attribute_of(value, name) if get is None else get(name, ABSENT)


# --- strict records ---------------------------------------------------------------------------------------------------

cdef int refuse_unknown_keys(RecordNode node, object value) except -1:
    """As refuse_unknown, for a dict, whose keys usually come in the order of the fields."""
    cdef Py_ssize_t i = 0, position = 0
    cdef PyObject* key = NULL
    cdef PyObject* item = NULL
    while PyDict_Next(value, &position, &key, &item):
        if i < node.count and sns_same_text(key, node.fields[i].name):
            i += 1
            continue
        name = <object>key
        if not PySet_Contains(node.known, name):
            return refuse_unknown(node, list(dict.keys(value)))
    return 0


cdef int refuse_unknown(RecordNode node, object names) except -1:
    """Raise EncodeError for names that are not fields of the record; "-type" is allowed, since it names the record."""
    cdef list unknown = []
    for name in islice(names, node.count + 1 + MAX_NAMES_IN_ERROR):     # an iterable may be endless
        if name not in node.known and not (type(name) is str and name == TYPE_HINT):
            unknown.append(shorten(name))
    if unknown:
        fields = ", ".join(node.names[:MAX_NAMES_IN_ERROR])
        raise EncodeError(f"{node.label} has no field {', '.join(unknown[:MAX_NAMES_IN_ERROR])}",
                          hint=f"its fields are {fields}; validate.strict refuses others")
    return 0
