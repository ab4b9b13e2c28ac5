/* Where the ends of a benchmark run. */
#ifndef BV_PLACE_H
#define BV_PLACE_H

#include <stdbool.h>

#include "core/param.h"

/* The `place` parameter of every benchmark with two ends. */
extern const char place_choices[];
extern const char place_summary[];

struct place {
	const char *mode; /* of place_choices; NULL for benchmarks with one end */
	int cpu;          /* -1: unpinned */
	int partner;      /* CPU of the other end; -1: unpinned or none */
};

/* Chooses the CPUs and pins the calling thread: `cpu` as asked (also an isolated one, which is not
 * among those that the scheduler uses by itself) or, when it is auto, the fastest allowed one, of
 * these the highest-numbered (CPU 0 serves most interrupts). Returns 0, or 2 or 77 after an error
 * line. */
int place_choose(struct place *place, const char *who, uint64_t cpu, const char *mode);

/* Pins the calling thread; -1 gives it all CPUs that the process was started with.
 * Returns 0 or a negative errno. */
int place_pin(int cpu);

/* All CPUs that the process was started with: `first`, then the others, the fastest before slower
 * ones, of equals the highest-numbered first. cpus has room for CPU_SETSIZE. Returns how many. */
int place_list(int first, int *cpus);

/* A CPU that this process may use, related to `cpu` as `mode` (of place_choices, not "free") says;
 * -1: none. */
int place_related(int cpu, const char *mode);

/* One of those that the process was started with. */
bool place_allowed(int cpu);

/* Adds "cpus_allowed" and, for cpu, "caches" to a line. */
void place_describe_allowed(struct json *j);
void place_describe_caches(struct json *j, int cpu);

#endif
