/* What keeps threads apart where CPython has no GIL. With a GIL all of this compiles to what stood here without it.
 *
 * A hit may neither take a lock nor touch the reference count of an object that threads share: cores that write to the
 * same cache line wait for each other. So each thread works with a replica of each SerDes that it calls (serdes/):
 * an object of the same class, with the SerDes's configuration, the thread's own copy of the last Bound, and counters.
 * Only its thread writes to a replica, and it adds references to what it copies only while it copies.
 *
 *     SerDes: number, generation, replicas ----owns----> replica: configuration, last Bound, counters, lease
 *                                                           ^                                         |
 *     thread: table of places: number, seen, replica -------+ (borrowed), lease ----------------------+
 *
 * Why a hit is safe. It looks up the place with the SerDes's number, and compares what the thread has seen with the
 * SerDes's generation.
 *   - The caller holds the SerDes, the SerDes owns the replica until its own end, and a number is never given twice: a
 *     place with the SerDes's number leads to a replica that lives, and no place is looked at with another's number.
 *   - Nobody else writes to the replica. configure(), rebind() and a first key change the SerDes in a critical section
 *     and count its generation up; each thread then copies the configuration, as a whole, in a critical section at the
 *     beginning of its next call. A call that runs meanwhile ends with what it began with.
 *   - The thread's copy of the last Bound is an object that this thread created: its reference count is the thread's
 *     own. It is held during the call, so a nested call may replace it.
 * A lease joins a replica and its thread: it counts whether both are still there. A thread that ends leaves its leases;
 * another thread takes over the replica, with its counters. So there are as many replicas as threads at a time, counts
 * add up over all of them. (Only a key that is read or written while configure() replaces the SerDes for keys may be
 * missing from them.) A SerDes that ends takes its replicas with it, and the places of others are cleared when a table
 * grows. Until its next call, a thread that is idle keeps what it has copied.
 *
 * What else is shared:
 *   - Plans are immutable, and read by borrowed pointers. The dicts that new records are copied from stand in each plan
 *     once per stripe of threads: copying a dict locks it.
 *   - TopicCache: lookups return new references, writers hold its lock, and its dict is never replaced.
 *   - The user's dicts and lists are walked in a critical section, which CPython suspends where it waits for another
 *     lock, or where user code runs: what is borrowed is never used after such a point (encode.pyx). Single items of
 *     dicts and slots are read as new references. Messages in other buffers than bytes objects are copied before they
 *     are checked; what else reads buffers checks each read against their size, which does not change.
 *   - Flights: to look whether waiting would be a deadlock and to wait are one step, under a lock. A critical section
 *     would not do: the dict's own lock may suspend it.
 *   - A reader of records and its columns are for one thread at a time, and refuse a second one.
 */
#ifndef STREAMNATIVE_SERDES_THREADS_H
#define STREAMNATIVE_SERDES_THREADS_H

#include <Python.h>
#include <stdint.h>

#ifdef Py_GIL_DISABLED
#define SNS_FREE_THREADED 1
#else
#define SNS_FREE_THREADED 0
#endif

/* --- numbers ------------------------------------------------------------------------------------------------------ */

#if SNS_FREE_THREADED
/* Of a counter that one thread writes to, and others read. */
static inline int64_t sns_counted(const int64_t *counter) { return _Py_atomic_load_int64_relaxed(counter); }
static inline void sns_count(int64_t *counter, int64_t more) {
    _Py_atomic_store_int64_relaxed(counter, _Py_atomic_load_int64_relaxed(counter) + more);
}
static inline uint64_t sns_generation(const uint64_t *number) { return _Py_atomic_load_uint64_relaxed(number); }
/* Of counters that several threads write to. Return the number before. */
static inline uint64_t sns_next(uint64_t *number) { return _Py_atomic_add_uint64(number, 1); }
static inline Py_ssize_t sns_add(Py_ssize_t *number, Py_ssize_t more) { return _Py_atomic_add_ssize(number, more); }
/* Take what is for one thread at a time; 0 if another has it. */
static inline int sns_take(int *taken) { return _Py_atomic_exchange_int(taken, 1) == 0; }
static inline void sns_leave(int *taken) { _Py_atomic_store_int_release(taken, 0); }
/* A lock for a few lines that run no other code. */
typedef PyMutex sns_mutex;
static inline sns_mutex sns_unlocked(void) { return (PyMutex){0}; }
static inline void sns_lock(sns_mutex *mutex) { PyMutex_Lock(mutex); }
static inline void sns_unlock(sns_mutex *mutex) { PyMutex_Unlock(mutex); }
#else
typedef struct { char none; } sns_mutex;
static inline sns_mutex sns_unlocked(void) { return (sns_mutex){0}; }
static inline void sns_lock(sns_mutex *mutex) { (void)mutex; }
static inline void sns_unlock(sns_mutex *mutex) { (void)mutex; }
static inline int64_t sns_counted(const int64_t *counter) { return *counter; }
static inline void sns_count(int64_t *counter, int64_t more) { *counter += more; }
static inline uint64_t sns_generation(const uint64_t *number) { return *number; }
static inline uint64_t sns_next(uint64_t *number) { return (*number)++; }
static inline Py_ssize_t sns_add(Py_ssize_t *number, Py_ssize_t more) {
    Py_ssize_t before = *number;
    *number += more;
    return before;
}
static inline int sns_take(int *taken) {
    int before = *taken;
    *taken = 1;
    return !before;
}
static inline void sns_leave(int *taken) { *taken = 0; }
#endif

/* --- objects that other threads may change ------------------------------------------------------------------------ */

/* A critical section around calls that return normally, errors included. */
#if SNS_FREE_THREADED
typedef PyCriticalSection sns_section;
static inline void sns_enter(sns_section *section, PyObject *object) { PyCriticalSection_Begin(section, object); }
static inline void sns_exit(sns_section *section) { PyCriticalSection_End(section); }
#else
typedef char sns_section;
static inline void sns_enter(sns_section *section, PyObject *object) { (void)section; (void)object; }
static inline void sns_exit(sns_section *section) { (void)section; }
#endif

/* A new reference to a dict's item; NULL without an exception if there is none. */
static inline PyObject *sns_item(PyObject *dict, PyObject *key) {
#if SNS_FREE_THREADED
    PyObject *item;
    (void)PyDict_GetItemRef(dict, key, &item);
    return item;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* A borrowed reference to an item of a list that nobody shortens, and that is replaced only once. */
static inline PyObject *sns_list_item(PyObject *list, Py_ssize_t i) {
#if SNS_FREE_THREADED
    return (PyObject *)_Py_atomic_load_ptr_acquire(&((PyListObject *)list)->ob_item[i]);
#else
    return PyList_GET_ITEM(list, i);
#endif
}

/* A new reference to what stands at an address within an object; NULL for nothing. A tuple never changes. */
static inline PyObject *sns_slot(PyObject *object, PyObject **place) {
    PyObject *found;
#if SNS_FREE_THREADED
    if (!PyTuple_Check(object)) {
        Py_BEGIN_CRITICAL_SECTION(object);
        found = Py_XNewRef(*place);
        Py_END_CRITICAL_SECTION();
        return found;
    }
#endif
    found = *place;
    return Py_XNewRef(found);
}

/* --- stripes ------------------------------------------------------------------------------------------------------ */

#ifdef _MSC_VER
#define SNS_THREAD static __declspec(thread)
#else
#define SNS_THREAD static __thread
#endif

#if SNS_FREE_THREADED
#define SNS_STRIPES 16
SNS_THREAD int sns_my_stripe = -1;
static Py_ssize_t sns_stripes_given;
/* The stripe of this thread: a number below SNS_STRIPES, which it has in common with few others. */
static inline int sns_stripe(void) {
    if (sns_my_stripe < 0) sns_my_stripe = (int)((size_t)sns_add(&sns_stripes_given, 1) % SNS_STRIPES);
    return sns_my_stripe;
}
#else
#define SNS_STRIPES 1
static inline int sns_stripe(void) { return 0; }
#endif

#endif
