# cython: language_level=3, binding=True, auto_pickle=False
"""Single flight: a question that is under way is not asked twice; threads that come later wait for the same answer.

An interrupt (Ctrl-C in the main thread, an exception that another thread sends) comes between two bytecodes. In Python
it would so come between a flight's first line and its `try`, or into its `finally`, and leave a flight that nobody ever
ends. Here are no bytecodes but those of the work itself: a flight that is under way has a thread at work.
"""

import os
import threading
from copy import copy

from streamnative_serdes.errors import SerdesError

# Thread -> the flights that it waits for, in all objects; nested ones last. A thread is its process and number: a fork
# takes what is here along, and gives the numbers to other threads.
cdef dict _waits_for = {}


cdef class Flight:
    """One thread's work. The gate is shut until it has landed, with a result, an error, or, interrupted, with none."""

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

    cdef bint depends_on(self, object thread) except -1:
        """Whether it cannot land before `thread` has gone on, which may wait for it only in the middle of its work."""
        cdef Flight next
        if self.leader == thread:
            return True
        for next in _waits_for.get(self.leader, ()):
            if next.depends_on(thread):
                return True
        return False

    cdef bint wait(self, object thread, double seconds) except -1:
        """Whether it has landed in time."""
        cdef bint open
        cdef tuple outer = _waits_for.get(thread, ())
        _waits_for[thread] = (*outer, self)
        self.waiting += 1
        try:
            open = self.gate.acquire(True, seconds)     # where a signal handler may wait for another one
        finally:
            self.waiting -= 1
            if outer:
                _waits_for[thread] = outer
            else:
                del _waits_for[thread]
        if open:
            self.gate.release()     # for the next one
        return open


cdef class Flights:
    """Work under way by key. A fork's child does not wait for threads of its parent."""

    cdef dict under_way

    def __cinit__(self):
        self.under_way = {}

    def run(self, key, work, seconds=None):
        process = os.getpid()
        thread = process, threading.get_ident()
        place = process, key
        cdef double patience = -1.0 if seconds is None else min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        cdef Flight own = Flight(thread), flight
        while True:
            flight = self.under_way.setdefault(place, own)
            if flight is own:
                return own.lead(self.under_way, place, work)
            if flight.depends_on(thread):       # a finalizer or a signal handler in the middle of that work
                return work()
            if not flight.wait(thread, patience):
                raise TimeoutError("the answer that another thread is asking for did not come in time")
            if flight.done:
                break
        if isinstance(flight.error, SerdesError):
            raise copy(flight.error)    # threads would write their tracebacks, topics and hints into one object
        if flight.error is not None:
            raise flight.error
        return flight.result

    def waiting(self, key):
        cdef Flight flight = self.under_way.get((os.getpid(), key))
        return 0 if flight is None else flight.waiting
