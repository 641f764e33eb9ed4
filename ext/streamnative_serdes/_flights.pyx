# cython: language_level=3, binding=True, auto_pickle=False
"""Single flight: one thread does the work for a key, and the others that ask for it wait and share the result.

This module is compiled for safety, not for speed. An interrupt (Ctrl-C in the main thread, an exception sent by another
thread) arrives between two bytecodes. In Python code it could arrive between a flight's first line and its `try`, or
inside its `finally`, and leave a flight that never ends. Compiled code has no bytecodes of its own, so only the work
itself can be interrupted, and a flight in the table always has a thread working on it.
"""

from streamnative_serdes.threads cimport sns_add, sns_lock, sns_mutex, sns_unlock, sns_unlocked

import os
import threading
from copy import copy


# (process id, thread id) -> the flights that the thread waits for, across all Flights objects; nested ones last. The
# process id is part of the key because a forked child inherits this dict and may reuse the thread ids.
cdef dict _waits_for = {}
cdef sns_mutex _order                   # makes one step of looking for a deadlock and waiting, where there is no GIL
_order = sns_unlocked()


def _begin_child():
    """In a forked child, the thread that held the lock does not exist."""
    global _order
    _order = sns_unlocked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


cdef class Flight:
    """The work of one thread. The gate opens when it ends: with a result, an error, or neither if interrupted."""

    cdef object gate, leader, result, error
    cdef bint done
    cdef Py_ssize_t waiting

    def __cinit__(self, leader):
        self.gate = threading.Lock()
        self.gate.acquire()
        self.leader = leader

    cdef object lead(self, dict under_way, object key, object work):
        try:
            self.result = work()
            self.done = True
            return self.result
        except Exception as error:
            self.error = error
            self.done = True
            raise
        finally:
            under_way.pop(key, None)
            self.gate.release()

    cdef bint depends_on(self, object thread, list seen) except -1:
        """Tell whether the flight cannot end until `thread` continues: waiting for it would be a deadlock.

        ``seen`` keeps what is looked at alive: to free it could run other code.
        """
        cdef Flight next
        if self.leader == thread:
            return True
        waits = _waits_for.get(self.leader, ())
        seen.append(waits)
        for next in waits:
            if next.depends_on(thread, seen):
                return True
        return False

    cdef bint begin_wait(self, object thread, tuple outer) except -1:
        """Say that `thread` waits for the flight, unless that would be a deadlock: then return False."""
        cdef list seen = []
        sns_lock(&_order)
        try:
            if self.depends_on(thread, seen):
                return False
            _waits_for[thread] = (*outer, self)
        finally:
            sns_unlock(&_order)
        return True

    cdef bint wait(self, object thread, tuple outer, double seconds) except -1:
        """Wait, after begin_wait, until the flight has ended; False after `seconds`."""
        cdef bint open
        sns_add(&self.waiting, 1)
        try:
            open = self.gate.acquire(True, seconds)     # a signal handler that runs here may wait for another flight
        finally:
            sns_add(&self.waiting, -1)
            sns_lock(&_order)
            try:
                if outer:
                    _waits_for[thread] = outer
                else:
                    del _waits_for[thread]
            finally:
                sns_unlock(&_order)
        if open:
            self.gate.release()     # let the next waiter through
        return open


cdef object own_copy(object error):
    """A copy of the error, to which a thread adds its own traceback, topic and hint; itself if no copy is equal."""
    try:
        copied = copy(error)
        if type(copied) is not type(error) or copied.args != error.args or str(copied) != str(error):
            return error
    except Exception:
        return error
    copied.__cause__, copied.__suppress_context__ = error.__cause__, error.__suppress_context__
    return copied


cdef class Flights:
    """Running flights, by key; shared by threads. A forked child does not wait for threads of its parent."""

    cdef dict under_way

    def __cinit__(self):
        self.under_way = {}

    def run(self, key, work, seconds=None):
        """Return (or raise) the result of ``work``, run here or by the thread that came first; errors are copied.

        If the leading thread is interrupted (KeyboardInterrupt), a waiting thread takes over. A call that would wait
        for work that it interrupts (from a finalizer or a signal handler) does the work itself.

        Raises:
            TimeoutError: the other thread took longer than ``seconds``.
        """
        process = os.getpid()
        thread = process, threading.get_ident()
        place = process, key
        cdef double patience = -1.0 if seconds is None else min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        cdef Flight own = Flight(thread), flight
        cdef tuple outer
        while True:
            flight = self.under_way.setdefault(place, own)
            if flight is own:
                return own.lead(self.under_way, place, work)
            outer = _waits_for.get(thread, ())
            if not flight.begin_wait(thread, outer):    # called by a finalizer or a signal handler during that work
                return work()
            if not flight.wait(thread, outer, patience):
                raise TimeoutError("timed out while waiting for another thread that is making the same request")
            if flight.done:
                break
        if flight.error is not None:
            raise own_copy(flight.error)
        return flight.result

    def waiting(self, key):
        """Return the number of threads that wait for the flight of ``key``."""
        cdef Flight flight = self.under_way.get((os.getpid(), key))
        return 0 if flight is None else flight.waiting
