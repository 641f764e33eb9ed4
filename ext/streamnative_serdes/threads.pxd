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
    ctypedef struct sns_mutex:
        pass
    sns_mutex sns_unlocked() noexcept nogil
    void sns_lock(sns_mutex*) noexcept
    void sns_unlock(sns_mutex*) noexcept
    ctypedef struct sns_section:
        pass
    void sns_enter(sns_section*, object) noexcept
    void sns_exit(sns_section*) noexcept
    PyObject* sns_item(object, object) except? NULL
    PyObject* sns_list_item(PyObject*, Py_ssize_t) noexcept
    const int SNS_STRIPES
    int sns_stripe() noexcept nogil
