# Reads and writes records as instances of user classes, and enums as their members, by shapes (_schema/shapes.py).
#
# Values at a fixed offset in each instance (slots, items of tuples) are stored and read there directly. A class that
# has to construct its own instances is called with keyword arguments; only then does reading run user code.

cdef enum How:
    BY_CALL
    AS_MODEL                    # a pydantic model: the record's dict becomes its __dict__, and is written from there
    BY_NAME                     # in __dict__
    IN_SLOTS                    # this and the following: at fixed offsets
    IN_TUPLE

HOWS = {"call": BY_CALL, "model": AS_MODEL, "dict": BY_NAME, "slots": IN_SLOTS, "tuple": IN_TUPLE}

cdef extern from *:
    """
    /* Number of nested calls of user classes during decoding in this thread: they may decode other messages. */
    #ifdef _MSC_VER
    static __declspec(thread) int sns_making;
    #else
    static __thread int sns_making;
    #endif
    """
    int sns_making


@cython.final
cdef class Maker:
    """Creates objects of one class from records, and reads their values to write them."""
    cdef object cls
    cdef int how
    cdef tuple items                # IN_TUPLE: names of the items
    cdef Py_ssize_t width           # IN_TUPLE: number of items
    cdef object attributes          # field name -> attribute name
    cdef list lacking               # attributes without a field: (attribute, place, function that returns its default)
    cdef frozenset given, required  # AS_MODEL: names of all attributes, and of those that are never None
    cdef Py_ssize_t[3] states       # AS_MODEL: offsets of what pydantic keeps beside __dict__

    cdef Py_ssize_t place_of(self, str attribute) except -2:
        """Return the offset of the attribute's value in an instance; -1 if it has no fixed offset."""
        cdef Py_ssize_t offset = -1
        if self.how == IN_TUPLE:
            return sns_item_offset(self.items.index(attribute))
        if self.how == IN_SLOTS:
            offset = sns_slot_offset(<PyTypeObject*>self.cls, found_in(self.cls, attribute))
            if offset < 0:
                raise SchemaError(f"{self.cls.__name__} has no slot {shorten(attribute)}")
        return offset

    cdef object make(self):
        """Create an object without values; a tuple is filled with None."""
        if self.how == IN_TUPLE:
            return sns_new_tuple(<PyTypeObject*>self.cls, self.width)
        return sns_new_object(<PyTypeObject*>self.cls)

    cdef object model(self, dict values):
        """Create a pydantic model without extra and private attributes; its values are valid unless one is None."""
        cdef object made, given_fields
        if unlikely(sns_has_none(values)):
            for name in self.required:
                if values[name] is None:
                    return called(self.cls, self.cls, values)   # which says what it expects
        made, given_fields = sns_new_object(<PyTypeObject*>self.cls), set(self.given)
        sns_set_dict(made, values)
        Py_INCREF(given_fields)
        sns_give_at(made, self.states[0], <PyObject*>given_fields)
        for i in range(1, 3):
            Py_INCREF(None)
            sns_give_at(made, self.states[i], <PyObject*>None)
        return made

    cdef inline int put(self, object made, PyObject* attribute, Py_ssize_t place, PyObject* value) except -1:
        """Store a value. Steals the reference to it."""
        if self.how >= IN_SLOTS:
            sns_give_at(made, place, value)
            return 0
        one = given(value)
        return PyObject_GenericSetAttr(made, <object>attribute, one)


cdef object found_in(object cls, str attribute):
    """Return the unbound attribute from the class or one of its bases; None if there is none."""
    for base in (<type>cls).__mro__:
        if attribute in base.__dict__:
            return base.__dict__[attribute]
    return None


cdef Maker maker_of(object schema, object shapes):
    """Return the Maker for the record's shape; None if the record is read as a dict."""
    cdef object shape = shapes.get(schema.name)
    cdef Maker maker
    if shape is None:
        return None
    how = HOWS.get(getattr(shape, "build", None))
    if how is None or not isinstance(shape.cls, type):
        raise SchemaError(f"expected a RecordShape for record {shorten(schema.name)}, got {shape!r:.80}")
    maker = Maker()
    maker.cls, maker.how, maker.attributes = shape.cls, how, shape.attributes
    if how == IN_TUPLE:
        if not issubclass(shape.cls, tuple):
            raise SchemaError(f"{shape.cls.__name__} is not a named tuple")
        maker.items = tuple(shape.cls._fields)
        maker.width = len(maker.items)
    elif how != BY_CALL and not sns_is_plain(<PyTypeObject*>shape.cls):
        raise SchemaError(f"{shape.cls.__name__} defines its own __new__, so its shape needs build='call'")
    if how == AS_MODEL:
        begin_model(maker, shape)
    maker.lacking = [(attribute, maker.place_of(attribute), function) for attribute, function in lacked(shape)]
    return maker


cdef int begin_model(Maker maker, object shape) except -1:
    cdef int i
    maker.given, maker.required = frozenset(maker.attributes.values()), frozenset(shape.required)
    for i, name in enumerate(("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")):
        maker.states[i] = sns_slot_offset(<PyTypeObject*>maker.cls, found_in(maker.cls, name))
        if maker.states[i] < 0:
            raise SchemaError(f"{maker.cls.__name__} is no pydantic model of a version that is known: it has no {name}")
    return 0


cdef list lacked(object shape):
    return [(sys.intern(str(attribute)), function) for attribute, function in shape.defaults.items()]


cdef list attributes_of(Maker maker, object fields):
    """Return the attribute name for each field, or None."""
    return [None if name is None else sys.intern(str(name)) for name in [maker.attributes.get(f.name) for f in fields]]


# --- reading ----------------------------------------------------------------------------------------------------------

cdef Node build_shaped(object schema, Maker maker, Build shared, int depth):
    """Compile a record that is read with the schema it was written with."""
    cdef ResolvedRecord record = ResolvedRecord(RESOLVED_RECORD, f"record {schema.name}")
    shared.keep(schema, record)         # before its fields, which may refer to it
    nodes = [build_node(field.type, shared, depth + 1) for field in schema.fields]
    record.begin(schema, schema, maker)
    record.fill([record.key(str(field.name)) for field in schema.fields], nodes)
    return record


cdef object read_object(ResolvedRecord node, Maker maker, Reader* r):
    cdef Py_ssize_t i
    cdef FieldPlan* field = node.fields
    cdef PyObject* value
    cdef Step* step = open_record(node, r)
    cdef object made = maker.make()
    for i in range(node.count):
        step.index = i
        if field.name is NULL:
            skip_value(field.node, r)
        else:
            value = read_quickly(field.node, r)
            if unlikely(value is NULL):
                value = try_read(field.node, r)
                if value is NULL:
                    sns_reraise()
            maker.put(made, field.name, field.place, value)
        field += 1
    if unlikely(node.rest):
        fill_rest(node, maker, made)
    r.depth -= 1
    return made


cdef int fill_rest(ResolvedRecord node, Maker maker, object made) except -1:
    """Set the attributes that come from no field of the writer: schema defaults, then class defaults."""
    for name, place, value in node.constant:
        Py_INCREF(value)
        maker.put(made, <PyObject*>name, place, <PyObject*>value)
    for name, place, default in node.fresh:
        value = (<DefaultValue>default).read()
        Py_INCREF(value)
        maker.put(made, <PyObject*>name, place, <PyObject*>value)
    for name, place, function in maker.lacking:
        value = called(maker.cls, function, {})
        Py_INCREF(value)
        maker.put(made, <PyObject*>name, place, <PyObject*>value)
    return 0


cdef object called(object cls, object function, dict values):
    """Call user code (``function``, of ``cls``) with decoded values."""
    if sns_making >= MAX_NESTED_CALLS:
        raise DecodeError(f"calls of decode are nested more than {MAX_NESTED_CALLS} levels deep: "
                          f"creating a {cls.__name__} decodes others")
    (&sns_making)[0] += 1
    try:
        return function(**values)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise DecodeError(f"{cls.__name__} rejected the decoded values: {type(error).__name__}: {words_of(error)}",
                          hint="the message is valid for its schema, but not for the class") from error
    finally:
        (&sns_making)[0] -= 1


# --- writing ----------------------------------------------------------------------------------------------------------

cdef int write_object(RecordNode node, Maker maker, Writer* w, object value) except -1:
    """Write a record from an object of the shape's class, or of a subclass, which may have properties instead."""
    cdef Py_ssize_t i
    cdef FieldPlan* field = node.fields
    cdef PyObject* hit
    cdef bint placed = maker.how >= IN_SLOTS and type(value) is maker.cls
    cdef sns_get get = sns_getter(value)
    cdef object values = sns_own_dict(value) if maker.how == AS_MODEL and type(value) is maker.cls else None
    cdef Step* step
    if maker.how == IN_TUPLE and not (isinstance(value, tuple) and PyTuple_GET_SIZE(value) == maker.width):
        expected(f"a {maker.cls.__name__} of {maker.width} items", value)
    if unlikely(node.closed and maker.lacking):
        refuse_unknown(node, [name for name, _place, _function in maker.lacking])
    step = enter_write(w, node)
    for i in range(node.count):
        step.index = i
        hit = NULL
        if placed:
            if field.place >= 0:
                hit = sns_at(value, field.place)
        elif field.attribute is not NULL:
            if values is not None:
                hit = sns_item(values, <object>field.attribute)
            if hit is NULL:
                hit = get(<PyObject*>value, field.attribute)
            if unlikely(hit is NULL):
                hit = why_no_attribute(value, <object>field.attribute)
        if unlikely(hit is NULL):
            write_missing(node, w, i)
        else:
            one = given(hit)
            if not write_quickly(field.node, w, hit):
                write_value(field.node, w, one)
        field += 1
    w.depth -= 1
    return 0


cdef PyObject* why_no_attribute(object value, object name) except? NULL:
    """Return NULL for an attribute that does not exist. An unset slot or a failing property is an error."""
    try:
        sns_reraise()
    except AttributeError:
        if found_in(type(value), name) is not None:
            raise
    return NULL
