/* Time, and the true clock of the CPU. */
#ifndef BV_CLOCK_H
#define BV_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_ns(void);

/* CPU time of this process in nanoseconds: what limits its own work, however busy the board is. */
uint64_t clock_work_ns(void);

/* Smallest non-zero step and mean cost of clock_ns(), in nanoseconds, measured once. */
struct timer {
	uint64_t resolution_ns;
	double cost_ns;
};
const struct timer *clock_timer(void);

/* The CPU's clock in Hz, from two chains of dependent one-cycle instructions of different length:
 * their difference cancels the cost of loop and timer. Takes some tens of microseconds at GHz
 * clocks. Returns 0 when no clock can be told (an emulator, say). */
double clock_cpu_hz(void);

/* Runs the two chains `rounds` times each and adds up their times and the difference of their
 * lengths in cycles. */
struct chain_time {
	uint64_t short_ns;
	uint64_t long_ns;
	double cycles;
};
void clock_chain(uint64_t rounds, struct chain_time *time);

/* Spins until the clock of the CPU that runs this is steady: until two readings, each over so long
 * that the governor of `cpu` can have reacted between them, agree within 2 %, at most limit_ms.
 * Once warm, later calls return as soon as the clock is within 3 % of what it was, as in the flag
 * "clock" of a sample, and spin an eighth of limit_ms at most. Returns that clock in Hz, 0 when
 * none can be told, -1 when limit_ms was 0 and nothing was looked at. */
double clock_warm(int cpu, unsigned limit_ms);

#endif
