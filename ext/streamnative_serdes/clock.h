/* Monotonic clock, in seconds since an unspecified start: only differences are meaningful.

   Its resolution is some milliseconds: Linux's exact clock would take a fifth of the time of a small message. */
#ifndef STREAMNATIVE_SERDES_CLOCK_H
#define STREAMNATIVE_SERDES_CLOCK_H

#ifdef _WIN32
#include <windows.h>

static inline double sns_monotonic(void) { return (double)GetTickCount64() / 1000.0; }
#else
#include <time.h>

#ifdef CLOCK_MONOTONIC_COARSE
#define SNS_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define SNS_CLOCK CLOCK_MONOTONIC
#endif

static inline double sns_monotonic(void) {
    struct timespec now;
    clock_gettime(SNS_CLOCK, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#endif

#endif
