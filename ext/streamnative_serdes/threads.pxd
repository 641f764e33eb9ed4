# Declares threads.h for Cython, which says how threads are kept apart.

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t

cdef extern from "threads.h":
    const bint FREE_THREADED "SNS_FREE_THREADED"
    int64_t sns_counted(const int64_t*) noexcept nogil
    void sns_count(int64_t*, int64_t) noexcept nogil
    uint64_t sns_generation(const uint64_t*) noexcept nogil
    uint64_t sns_next(uint64_t*) noexcept nogil
    Py_ssize_t sns_add(Py_ssize_t*, Py_ssize_t) noexcept nogil
    bint sns_take(int*) noexcept nogil
    void sns_leave(int*) noexcept nogil
    ctypedef struct sns_section:
        pass
    void sns_enter(sns_section*, object) noexcept
    void sns_exit(sns_section*) noexcept
    PyObject* sns_item(object, object) except? NULL
    PyObject* sns_list_item(object, Py_ssize_t) noexcept
    const int SNS_STRIPES
    int sns_stripe() noexcept nogil
    ctypedef struct sns_lease:
        pass
    ctypedef struct sns_place:
        uint64_t number, seen
        PyObject* replica
        sns_lease* lease
    ctypedef struct sns_table:
        pass
    sns_table* sns_my_table
    sns_lease* sns_new_lease() noexcept
    bint sns_is_left(sns_lease*) noexcept
    void sns_renew(sns_lease*) noexcept
    void sns_leave_lease(sns_lease*) noexcept
    sns_place* sns_find(uint64_t) noexcept
    sns_table* sns_begin_table() except NULL
    void sns_put(sns_table*, const sns_place*) noexcept
    int sns_make_room(sns_table*) except -1
    void sns_end_table(sns_table*) noexcept
