/* What may have disturbed a batch: taken before and after it, never inside. */
#ifndef BV_EVIDENCE_H
#define BV_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"

struct evidence {
	uint64_t time_ns;
	int cpu;
	long voluntary_switches, involuntary_switches, minor_faults, major_faults;
	int64_t wait_ns;      /* -1: not available */
	int64_t migrations;   /* -1: not available */
	bool has_load;
	uint64_t steal_ticks; /* all CPUs */
	uint64_t busy_ticks;  /* all CPUs but `own` and `partner` */
	double clock_hz;      /* 0: not available */
};

/* Takes the evidence; busy_ticks leaves out the CPUs own and partner (-1: none). The clock is
 * read last before a batch and first after it. */
void evidence_before(struct evidence *e, int own, int partner);
void evidence_after(struct evidence *e, int own, int partner);

/* Takes the load from the text of /proc/stat, which it cuts up. */
void evidence_parse_load(struct evidence *e, char *text, int own, int partner);

/* Nanoseconds that this thread was runnable but did not run, since it began; -1: not available. */
int64_t evidence_wait_ns(void);

/* The temperature of the CPU's thermal zone: 0 or a negative errno. */
int evidence_temperature(int64_t *millidegrees);

struct sample_flags {
	bool pinned;   /* migration is a disturbance */
	bool loads_others; /* the load of other CPUs is its own work too */
	bool bystander; /* what is measured happens in other processes */
	bool switches; /* switching is what the benchmark does */
	bool faults;   /* minor faults are what the benchmark does */
	bool blocks; /* it sleeps and is woken by kernel threads, which is no disturbance */
};

/* Adds all evidence items and "flags" to a sample line. The window for the system's load is the
 * batch alone: between batches a host that is the board itself stores the sample before. */
void evidence_describe(const struct evidence *before, const struct evidence *after,
		       uint64_t elapsed_ns, struct sample_flags kind, struct json *j);

#endif
