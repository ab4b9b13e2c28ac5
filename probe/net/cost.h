/* CPU time: of this process, and of the whole system. */
#ifndef BV_COST_H
#define BV_COST_H

#include <stdint.h>

/* User and system time of all threads of this process. */
uint64_t cost_own_ns(void);

/* Time that all CPUs together were not idle, interrupts and softirqs included, steal not; in steps
 * of a tick. A negative errno where /proc/stat is missing. */
int64_t cost_system_ns(void);

#endif
