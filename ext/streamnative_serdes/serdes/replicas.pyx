# What a thread works with: its replica of a SerDes where there is no GIL (threads.h), else the SerDes itself.

cdef inline PyObject* replica_of(_Serdes serdes) noexcept:
    """This thread's replica, borrowed: it stays as it is until the thread calls the SerDes again. See no_replica."""
    cdef sns_place* place
    if not FREE_THREADED:
        return <PyObject*>serdes
    place = sns_find(serdes.number)
    if (likely(place is not NULL) and likely(place.seen == sns_generation(&serdes.generation))
            and likely(serdes.replicas is not None)):   # None: the garbage collector has taken it apart
        return place.replica
    return try_seek_replica(serdes)


cdef inline bint no_replica(PyObject* replica) noexcept:
    """Whether replica_of has set an exception."""
    return FREE_THREADED and unlikely(replica is NULL)


cdef _Serdes mine_of(_Serdes serdes):
    """As replica_of, where speed does not matter."""
    cdef PyObject* mine = replica_of(serdes)
    if no_replica(mine):
        sns_reraise()
    return <_Serdes>mine


cdef PyObject* seek_replica(_Serdes serdes) except NULL:
    """Make this thread's replica, or bring it up to date."""
    cdef _Serdes mine
    if serdes.origin is not None or serdes.replicas is None:    # itself a replica, or taken apart
        return <PyObject*>serdes
    if sns_find(serdes.number) is NULL:
        begin_place(serdes)
    mine = <_Serdes>sns_find(serdes.number).replica
    mine.copy(serdes)
    sns_find(serdes.number).seen = mine.generation
    return <PyObject*>mine          # borrowed from the SerDes


# The same function, for callers that check for NULL themselves.
cdef PyObject* (*try_seek_replica)(_Serdes) noexcept
try_seek_replica = <PyObject* (*)(_Serdes) noexcept><void*>seek_replica


cdef int begin_place(_Serdes serdes) except -1:
    """Give this thread a replica: one whose thread has ended, or a new one."""
    cdef sns_place place
    cdef _Serdes mine = left_replica(serdes)
    if mine is None:
        mine = serdes.blank()
        mine.lease = sns_new_lease()
        if mine.lease is NULL:
            raise MemoryError()
        mine.origin = PyWeakref_NewRef(serdes, None)
        with cython.critical_section(serdes):
            serdes.replicas.append(mine)
    place.number, place.seen, place.replica, place.lease = serdes.number, 0, <PyObject*>mine, mine.lease
    try:
        sns_make_room(table_of_thread())
    except MemoryError:
        sns_leave_lease(mine.lease)
        raise
    sns_put(sns_my_table, &place)
    return 0


cdef _Serdes left_replica(_Serdes serdes):
    cdef _Serdes one
    with cython.critical_section(serdes):
        for one in serdes.replicas:
            if sns_is_left(one.lease):
                sns_renew(one.lease)
                return one
    return None


@cython.final
cdef class Leases:
    """The table of a thread. It ends with what CPython keeps of the thread."""

    cdef sns_table* table

    def __dealloc__(self):
        if self.table is not NULL:
            sns_end_table(self.table)


cdef sns_table* table_of_thread() except NULL:
    cdef PyObject* state
    cdef Leases leases
    if sns_my_table is NULL:
        state = PyThreadState_GetDict()
        if state is NULL:
            raise MemoryError()
        leases = Leases()
        leases.table = sns_begin_table()
        (<dict>state).setdefault("streamnative_serdes", []).append(leases)
    return sns_my_table


cdef _Serdes joined_twin(_Serdes self, _Serdes made):
    """The SerDes for keys: ``made``, or the one that another thread has made first."""
    cdef _Serdes serdes = self.face()
    with cython.critical_section(serdes):
        if serdes.policy is self.policy and serdes.twin is None:
            serdes.twin = made
            sns_next(&serdes.generation)
        elif serdes.policy is self.policy:
            made = serdes.twin
    return made


cdef inline _Serdes twin_at_hand(_Serdes self):
    """What this thread works with for keys; None if no context has asked for keys. The policy rebinds it by itself."""
    cdef sns_place* place
    if not FREE_THREADED or self.twin is None:
        return self.twin
    place = sns_find(self.twin.number)
    if likely(place is not NULL) and likely(place.seen == sns_generation(&self.twin.generation)):
        return <_Serdes>place.replica           # no reference of what threads share is counted
    return mine_of(self.twin)
