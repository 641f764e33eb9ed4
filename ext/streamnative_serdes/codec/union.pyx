# Writes unions: the branch that the caller names, or else the best match (fit.pyx). A single candidate is written
# directly, so that its errors keep their path; of several candidates, the first that accepts the value is written.

cdef inline bint put_is_null(int null_index, Writer* w, object value) except -1:
    """Write the branch index of an optional; returns whether it is null."""
    cdef bint null = value is None
    put_byte(w, <uint8_t>((null_index if null else 1 - null_index) << 1))
    return null


cdef int write_union(UnionNode node, Writer* w, object value) except -1:
    cdef Py_ssize_t branch = -1
    cdef tuple candidates
    if PyTuple_CheckExact(value):
        branch = branch_of_tuple(node, node.names, <tuple>value)
    if branch >= 0:
        value = (<tuple>value)[1]
    else:
        candidates = candidates_for(node, value)
        if len(candidates) > 1:
            return try_branches(node, candidates, w, value)
        branch = candidates[0]
    put_long(w, branch)
    return write_value(<PyObject*>node.branches[branch], w, value)


cdef int try_branches(UnionNode node, tuple candidates, Writer* w, object value) except -1:
    """Write the first branch that accepts the value. Failed attempts are bounded, since nested unions double them."""
    cdef Py_ssize_t used = w.p - w.base
    cdef bint local_time = w.local_time
    cdef int level = w.depth
    cdef int64_t opened
    cdef object first = None
    for branch in candidates:
        opened = w.opened
        try:
            put_long(w, branch)
            return write_value(<PyObject*>node.branches[branch], w, value)
        except EncodeError as error:
            if w.too_deep or w.waste_left < 0:
                raise
            if first is None:
                first = why_not(<Node>node.branches[branch], w, level, error)
        leave_to(w.steps, &w.depth, level)
        w.p = w.base + used
        w.local_time = local_time
        w.waste_left -= max(w.opened - opened - 1, 0)
        if w.waste_left < 0:
            first = f"{first}; gave up after too many failed attempts"
            break
    raise EncodeError(f"no branch of the {node.label} accepts {described(value)}: {first}")


cdef str why_not(Node branch, Writer* w, int level, object error):
    where = f" (field {path_of(w.steps, w.depth)})" if w.depth > level else ""
    # Truncated, since in nested unions each level quotes the error of the level below.
    return f"{branch.label}{where}: {error.message[:MAX_REASON]}"


# --- named by the caller: ("Name", value), {"-type": "Name", ...} ---------------------------------------------------

cdef int give_names(Node union, object branches) except -1:
    """Collect the names of a union's branches: the full name or, for an unnamed type, its kind; then named types
    without their namespace, unless that is ambiguous."""
    cdef dict names = {}, last = {}
    for i, branch in enumerate(branches):
        name = str(getattr(branch, "name", branch.kind))
        names.setdefault(name, i)
        last.setdefault(name.rpartition(".")[2], []).append(i)
    for name, owners in last.items():
        if len(owners) == 1:
            names.setdefault(name, owners[0])
    if union.kind == OPTIONAL:
        (<OptionalNode>union).names = names
    else:
        (<UnionNode>union).names = names
    return 0


cdef Py_ssize_t branch_called(dict names, object name) except -2:
    """Return the index of the branch with that name, or -1."""
    cdef PyObject* hit
    if not PyUnicode_Check(name):
        return -1
    hit = PyDict_GetItemWithError(names, PyUnicode_FromObject(name))    # a str subclass may override __hash__ or __eq__
    return -1 if hit is NULL else <Py_ssize_t><object>hit


cdef Py_ssize_t branch_of_tuple(Node union, dict names, tuple value) except -2:
    """Return the branch that a tuple (name, value) names; -1 for a tuple that may be an array."""
    cdef Py_ssize_t branch
    if PyTuple_GET_SIZE(value) != 2 or not PyUnicode_Check(value[0]):
        return -1
    branch = branch_called(names, value[0])
    if branch < 0 and not has_array(union):
        no_branch(names, value[0])
    return branch


cdef bint has_array(Node union) except -1:
    if union.kind == OPTIONAL:
        return (<OptionalNode>union).inner.kind == ARRAY
    return list in (<UnionNode>union).by_type


cdef int no_branch(dict names, object name) except -1:
    # The first names belong to different branches; short forms come after them.
    cdef Py_ssize_t count = min(max(names.values(), default=-1) + 1, MAX_NAMES_IN_ERROR)
    raise EncodeError(f"the union has no branch named {shorten(name)}",
                      hint=f"its branches are {', '.join(list(names)[:count])}")


cdef inline bint may_name_branch(object value) noexcept:
    """Whether ``value`` is a tuple or a dict, with a single test for everything else."""
    return PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS)


cdef int write_optional_tuple(OptionalNode node, Writer* w, tuple value) except -1:
    """Write a tuple. The one byte that put_is_null wrote is overwritten."""
    cdef Py_ssize_t branch = branch_of_tuple(node, node.names, value)
    cdef object inner = value if branch < 0 else value[1]
    w.p -= 1
    put_long(w, 1 - node.null_index if branch < 0 else branch)
    if branch == node.null_index:
        return 0 if inner is None else expected("null", inner)
    return write_value(<PyObject*>node.inner, w, inner)


cdef inline bint has_more_keys(PyObject* node, object value) noexcept:
    """Whether a dict may hold a "-type": with a single record, the key is only possible beyond the fields."""
    return (<Node>node).kind == RECORD and PyDict_CheckExact(value) \
        and PyDict_GET_SIZE(value) > (<RecordNode>node).count


cdef int check_hint(OptionalNode node, object value) except -1:
    """Refuse a dict whose "-type" does not name the only record of its union."""
    cdef PyObject* hit = sns_item(value, TYPE_HINT)
    if hit is NULL:
        return 0
    name = given(hit)
    if TYPE_HINT not in (<RecordNode>node.inner).known and branch_called(node.names, name) != 1 - node.null_index:
        no_branch(node.names, name)
    return 0


cdef Py_ssize_t branch_of_hint(UnionNode node, object name) except -2:
    """Return the record branch that a "-type" names; -1 if "-type" may be an ordinary key or field."""
    cdef Py_ssize_t branch = branch_called(node.names, name)
    if branch >= 0 and (<Node>node.branches[branch]).kind == RECORD:
        return branch
    for one in node.branches:
        if (<Node>one).kind == MAP or ((<Node>one).kind == RECORD and TYPE_HINT in (<RecordNode>one).known):
            return -1
    return no_branch(node.names, name)
