/* Hardware and kernel counters around a batch, by perf_event_open(2). */
#ifndef BV_COUNTERS_H
#define BV_COUNTERS_H

#include "core/json.h"

enum { COUNTERS_MAX = 16 };

struct count {
	uint64_t value, enabled, running; /* as the kernel writes them */
};

struct counters {
	int fd[COUNTERS_MAX];
	const char *na[COUNTERS_MAX]; /* why fd is -1 */
	const char *scope;            /* "user+kernel" or "user" */
	int passes[COUNTERS_MAX];     /* those in which there is something to count */
	int pass_count;
	int pass;                     /* that of the batch last begun */
	struct count before[COUNTERS_MAX];
};

/* Opens what can be had for this thread and the children that it forks from now on; the rest has a
 * reason. With a reason given, opens nothing and uses it for all. */
void counters_open(struct counters *c, const char *reason);
/* Batch `index` counts the hardware events of one pass, and those that belong to every pass. */
void counters_start(struct counters *c, uint64_t index);
void counters_stop(const struct counters *c);
void counters_describe(const struct counters *c, struct json *j);
void counters_close(struct counters *c);

#endif
