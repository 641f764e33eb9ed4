/* Monotonic clock, in seconds since an unspecified start: only differences are meaningful. */
#ifndef STREAMNATIVE_SERDES_CLOCK_H
#define STREAMNATIVE_SERDES_CLOCK_H

#ifdef _WIN32
#include <windows.h>

static inline double sns_monotonic(void) { return (double)GetTickCount64() / 1000.0; }
#else
#include <time.h>

static inline double sns_monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#endif

#endif
