/* Time, and the true clock of the CPU. See clock.h.
 *
 * The chain is the method of mhz (lmbench, W. Tarreau): dependent instructions of one cycle each.
 * XOR of two registers, because newer cores fold additions of constants at rename and would seem
 * twice as fast as they are. */
#include "core/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/files.h"

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_work_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct timer measure_timer(void)
{
	struct timer timer = {.resolution_ns = UINT64_MAX};
	enum { READS = 1000 };
	uint64_t first = clock_ns();
	uint64_t last = first;
	uint64_t reads = 0;

	/* A clock may be coarser than a thousand reads. */
	for (; reads < READS || last == first; reads++) {
		uint64_t now = clock_ns();
		if (now != last && now - last < timer.resolution_ns)
			timer.resolution_ns = now - last;
		last = now;
	}
	timer.cost_ns = (double)(last - first) / (double)reads;
	return timer;
}

const struct timer *clock_timer(void)
{
	static struct timer timer;

	if (timer.resolution_ns == 0)
		timer = measure_timer();
	return &timer;
}

#if defined(__x86_64__)
#define STEP "xor %1, %0\n\t"
#elif defined(__aarch64__)
#define STEP "eor %0, %0, %1\n\t"
#elif defined(__arm__)
#define STEP "eor %0, %0, %1\n\t"
#elif defined(__riscv)
#define STEP "xor %0, %0, %1\n\t"
#else
#error "no dependent chain for this architecture"
#endif
#define STEP8 STEP STEP STEP STEP STEP STEP STEP STEP
#define STEP64 STEP8 STEP8 STEP8 STEP8 STEP8 STEP8 STEP8 STEP8

enum { SHORT_STEPS = 64, LONG_STEPS = 320 };

/* Of each chain one copy: they are long, and two copies might lie differently in the caches. */
static __attribute__((noinline)) void chain_short(uint64_t loops)
{
	unsigned long value = 1;
	unsigned long operand = loops;

	while (loops--)
		__asm__ volatile(STEP64 : "+r"(value) : "r"(operand));
}

static __attribute__((noinline)) void chain_long(uint64_t loops)
{
	unsigned long value = 1;
	unsigned long operand = loops;

	while (loops--)
		__asm__ volatile(STEP64 STEP64 STEP64 STEP64 STEP64 : "+r"(value) : "r"(operand));
}

static uint64_t time_long(uint64_t loops)
{
	uint64_t begin = clock_ns();

	chain_long(loops);
	return clock_ns() - begin;
}

/* Loops a round: the long chain must last 100 timer steps and 20 us, or the step shows. The
 * shorter of two tries counts: the first may wait for its code, and an interrupt lengthens. */
static uint64_t chain_loops(void)
{
	static uint64_t loops;

	if (loops == 0) {
		uint64_t wanted = clock_timer()->resolution_ns * 100;
		uint64_t taken = 0;

		if (wanted < 20000)
			wanted = 20000;
		for (uint64_t n = 16; taken < wanted && n < 1u << 24; n *= 2) {
			uint64_t first = time_long(n);
			uint64_t second = time_long(n);
			taken = first < second ? first : second;
			loops = n;
		}
	}
	return loops;
}

void clock_chain(uint64_t rounds, struct chain_time *time)
{
	uint64_t loops = chain_loops();

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t t0 = clock_ns();
		chain_short(loops);
		uint64_t t1 = clock_ns();
		chain_long(loops);
		uint64_t t2 = clock_ns();
		time->short_ns += t1 - t0;
		time->long_ns += t2 - t1;
	}
	time->cycles += (double)rounds * (double)loops * (LONG_STEPS - SHORT_STEPS);
}

/* The clock from rounds of at least so long. The shortest round is the one that no interrupt
 * lengthened. */
static double hz_over(uint64_t at_least_ns)
{
	uint64_t begin = clock_ns();
	double best_short = INFINITY;
	double best_long = INFINITY;
	double cycles = 0;

	for (int rounds = 0; rounds < 3 || clock_ns() - begin < at_least_ns; rounds++) {
		struct chain_time time = {0};
		clock_chain(1, &time);
		best_short = fmin(best_short, (double)time.short_ns);
		best_long = fmin(best_long, (double)time.long_ns);
		cycles = time.cycles;
	}
	/* The long chain has five times the steps; where it is not clearly longer, instructions do
	 * not take a cycle each and there is no clock to be told. */
	if (best_long < 3 * best_short)
		return 0;
	return cycles / (best_long - best_short) * 1e9;
}

double clock_cpu_hz(void)
{
	return hz_over(0);
}

/* Long enough for a governor to have looked at the load once: 100 ms is the slowest sampling in
 * use. Where none governs, the hardware itself is done within milliseconds. */
static uint64_t warm_window_ns(int cpu)
{
	char path[96], governor[32];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
		 cpu < 0 ? 0 : cpu);
	if (file_read(path, governor, sizeof(governor)) < 0 ||
	    strcmp(governor, "performance") == 0 || strcmp(governor, "userspace") == 0)
		return 20000000;
	return 100000000;
}

double clock_warm(int cpu, unsigned limit_ms)
{
	static double reached = -1; /* 0: there is no clock to be told */
	uint64_t begin = clock_ns();
	uint64_t limit = (uint64_t)limit_ms * 1000000u;
	uint64_t window;
	bool steady = false;
	enum { GLANCES = 10 };

	if (limit == 0 || reached == 0)
		return reached;
	for (int i = 0; i < GLANCES && reached > 0; i++)
		if (clock_cpu_hz() >= 0.97 * reached)
			return reached;
	if (reached > 0)
		limit /= 8; /* once in each batch: a clock that drifts is the samples' to tell */
	window = warm_window_ns(cpu);
	reached = hz_over(window);
	while (reached > 0 && !steady && clock_ns() - begin < limit) {
		double now = hz_over(window);
		steady = fabs(now - reached) <= 0.02 * now;
		reached = now;
	}
	return reached;
}
