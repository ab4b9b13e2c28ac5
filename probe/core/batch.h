/* A benchmark, and the sampling protocol that every benchmark is measured by. */
#ifndef BV_BATCH_H
#define BV_BATCH_H

#include "core/json.h"
#include "core/param.h"
#include "core/place.h"

enum { CAVEATS_MAX = 4 };

/* A further figure of each batch, beside its value: a number under `key` in a sample's detail.
 * A table ends with a NULL key. */
struct figure {
	const char *key;
	const char *unit;
	const char *better;  /* higher, lower, or "" where neither is */
	const char *pool;    /* how batches make one figure: median, max, min or sum */
	const char *summary;
};

/* A common parameter whose default is another for this benchmark. Ends with a NULL name. */
struct initial {
	const char *name;
	const char *value;
};

/* One process of one benchmark. */
struct run {
	const struct benchmark *benchmark;
	struct args args;
	struct place place;
	void *state; /* the benchmark's own, made by setup */
	uint64_t iterations;
	uint64_t elapsed_ns; /* of the batch last measured */
	uint64_t most_iterations; /* a batch has no more, however short: set by setup, 0: no bound */
	uint64_t exact_iterations; /* a batch has as many, however long they take: likewise */
	const char *counted; /* set by setup where the parameters decide what is counted, or NULL */
	const char *unit;    /* likewise */
	bool loads_others; /* set by setup where the parameters decide that, see below */
	const char *caveats[CAVEATS_MAX];
	int caveat_count;
};

struct benchmark {
	const char *id;
	const char *summary;
	const char *unit;   /* B/s, ns, Hz, 1/s or B */
	const char *better; /* higher or lower */
	const char *counted;
	const char *method;
	const char *pitfalls;
	const char *not_measured;
	const char *reference;
	const struct param *params;
	const struct initial *initials; /* may be NULL */
	const struct figure *figures;   /* may be NULL */
	bool loads_others; /* its own work runs on other CPUs too, so their load is no neighbour's */
	bool bystander; /* what is measured happens in other processes: being preempted, or faulting,
			 * disturbs nothing here */
	bool switches; /* switching contexts is what it does: counting would add to each switch */
	bool faults; /* taking page faults is what it does: counting would add to each of them */
	bool blocks; /* waits for a device again and again: counting would add to that too, and the
		      * kernel's own threads preempt it */
	const char *helper; /* measured by this program beside the probe, on the board's own libc;
			     * it has no functions here then */

	/* All return 0 or the exit code of an error line that they have written. */
	int (*setup)(struct run *run);
	/* Does `iterations` iterations and sets run->elapsed_ns to the time they took. Must not
	 * allocate, print or fault between its two looks at the clock. */
	int (*batch)(struct run *run, uint64_t iterations);
	/* The batch's value in `unit`. */
	double (*value)(const struct run *run);
	/* Optional: more keys for the begin line, and for a sample's "detail". */
	void (*describe)(const struct run *run, struct json *j);
	void (*detail)(const struct run *run, struct json *j);
	void (*teardown)(struct run *run);
};

/* The value of benchmarks that measure a time: nanoseconds an iteration. */
double value_ns_per_iteration(const struct run *run);

/* Adds "figures", what each further figure of a batch is, to a line. */
void figures_describe(const struct figure *figures, struct json *j);

/* Adds a sentence that must be shown beside the result, once; NULL adds none. */
void run_caveat(struct run *run, const char *sentence);

/* Parameters that every benchmark takes. */
extern const struct param common_params[];

/* Measures: host, begin, sample…, end. argv holds `--name value` pairs.
 * Returns an exit code of the probe: 0, 1, 2 or 77. */
int batch_run(const struct benchmark *benchmark, int argc, char *const argv[]);

#endif
