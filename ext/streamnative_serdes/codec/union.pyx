# Unions on write: which branch a value goes to. By the exact Python type first; only what several branches may take is
# tried, best fitting first.

# Kind of branch -> the Python types that it takes, with a rank: 0 fits exactly, more is less fitting.
cdef dict TAKES = {
    NULL_KIND: ((type(None), 0),),
    BOOLEAN: ((bool, 0),),
    INT: ((int, 0),),
    LONG: ((int, 1),),
    DOUBLE: ((float, 0), (int, 2)),
    FLOAT: ((float, 1), (int, 3)),      # a double loses nothing, so it goes before a float
    STRING: ((str, 0),),
    ENUM: ((str, 0),),
    BYTES: ((bytes, 0),),
    FIXED: ((bytes, 0),),
    ARRAY: ((list, 0),),
    MAP: ((dict, 0),),
    RECORD: ((dict, 0),),
    DATE: ((datetime.date, 0), (int, 4)),
    TIME: ((datetime.time, 0), (int, 4)),
    TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    LOCAL_TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    NANOS: ((int, 4), (datetime.datetime, 1)),
    DECIMAL: ((Decimal, 0), (int, 4)),
    BIG_DECIMAL: ((Decimal, 0), (int, 4)),
    UUID_TEXT: ((UUID, 0), (str, 1)),
    UUID_FIXED: ((UUID, 0), (bytes, 1)),
    DURATION: ((list, 1),),
}


cdef dict branches_by_type(list branches):
    cdef dict ranked = {}
    for i, branch in enumerate(branches):
        for type_, rank in TAKES.get((<Node>branch).kind, ()):
            ranked.setdefault(type_, []).append((rank, i))
    return {type_: tuple([i for _rank, i in sorted(pairs)]) for type_, pairs in ranked.items()}


cdef inline bint put_is_null(OptionalNode node, Writer* w, object value) except -1:
    """Write which of the two branches it is."""
    cdef bint null = value is None
    room(w, 1)
    w.p[0] = <uint8_t>((node.null_index if null else 1 - node.null_index) << 1)
    w.p += 1
    return null


cdef int write_union(UnionNode node, Writer* w, object value) except -1:
    """The best fitting branch that takes the value; a lone candidate is written at once, so its errors keep a path."""
    cdef object plain = like(value)
    cdef tuple candidates = node.by_type.get(plain, ())
    if len(candidates) > 1 and plain is dict:
        candidates = by_shape(node, candidates, value)
    if not candidates:
        expected(node.label, value)
    if len(candidates) == 1:
        put_long(w, candidates[0])
        return write_value(<Node>node.branches[candidates[0]], w, value)
    return try_branches(node, candidates, w, value)


cdef int try_branches(UnionNode node, tuple candidates, Writer* w, object value) except -1:
    """Write the first branch that takes the value. What is written in vain is bounded: in nested unions it doubles."""
    cdef Py_ssize_t used = w.p - w.base
    cdef bint local_time = w.local_time
    cdef int level = w.depth
    cdef int64_t opened
    cdef object first = None
    for branch in candidates:
        opened = w.opened
        try:
            put_long(w, branch)
            return write_value(<Node>node.branches[branch], w, value)
        except EncodeError as error:
            if first is None:
                where = f" (field {path_of(w.steps, w.depth)})" if w.depth > level else ""
                first = f"{(<Node>node.branches[branch]).label}{where}: {error.message}"
        leave_to(w.steps, &w.depth, level)
        w.p = w.base + used
        w.local_time = local_time
        w.waste_left -= max(w.opened - opened - 1, 0)
        if w.waste_left < 0:
            first = f"{first}; too much was tried in vain to look further"
            break
    raise EncodeError(f"no branch of the {node.label} takes {described(value)}: {first}")


cdef tuple by_shape(UnionNode node, tuple candidates, object value):
    """Of several records and maps, those whose fields may hold what the datum has; fewest unknown names first."""
    cdef set names
    cdef object get
    cdef Node branch
    cdef list ranked = []
    if isinstance(value, tuple):
        values = dict(zip(getattr(value, "__fields__", None) or getattr(type(value), "_fields", ()), value))
        names, get = set(values), values.get
    elif isinstance(value, Mapping):
        names, get = set(value), value.get
    else:
        names, get = set(type(value).__dataclass_fields__), partial(attribute_of, value)
    for place, i in enumerate(candidates):
        branch = <Node>node.branches[i]
        if branch.kind != RECORD:
            ranked.append((1, place, i))
        elif may_be(<RecordNode>branch, get):
            ranked.append((len(names - (<RecordNode>branch).known), place, i))
    return tuple([i for _strangers, _place, i in sorted(ranked)]) or candidates


cdef bint may_be(RecordNode node, object get) except -1:
    """Whether each field could take what is there for it, going by types alone."""
    cdef Py_ssize_t i
    for i in range(node.count):
        one = get(<object>node.fields[i].name, ABSENT)
        if one is ABSENT:
            if node.missing[i] is None:
                return False
        elif not takes(<Node>node.fields[i].node, one):
            return False
    return True


cdef bint takes(Node node, object value) except -1:
    cdef object plain
    if node.kind == OPTIONAL:
        return value is None or takes((<OptionalNode>node).inner, value)
    plain = like(value)
    if node.kind == UNION:
        return plain in (<UnionNode>node).by_type
    for type_, _rank in TAKES[node.kind]:
        if plain is type_:
            return True
    return False


cdef object like(object value):
    """The plain type that ``value`` stands for when a union looks for its branch."""
    cdef object type_ = type(value)
    if type_ in PLAIN:
        return PLAIN[type_]
    if isinstance(value, tuple):
        named = hasattr(value, "__fields__") or hasattr(type_, "_fields")
        return dict if named and type_ is not Duration else list
    for plain in (str, int, float, bytes, datetime.datetime, datetime.date, datetime.time, Decimal, UUID, list):
        if isinstance(value, plain):
            return plain
    if isinstance(value, Mapping) or hasattr(type_, "__dataclass_fields__"):
        return dict
    if isinstance(value, PyEnum):
        return str
    if is_numpy_bool(value):
        return bool
    if PyObject_CheckBuffer(value) and not PyIndex_Check(value) and not hasattr(type_, "__float__"):
        return list if hasattr(type_, "tolist") and not isinstance(value, memoryview) else bytes
    if PyIndex_Check(value):
        return int
    return float if hasattr(type_, "__float__") else type_
