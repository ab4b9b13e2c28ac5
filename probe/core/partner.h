/* The other end of a benchmark with two ends: a child process on its own CPU. */
#ifndef BV_PARTNER_H
#define BV_PARTNER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/batch.h"

/* Memory that both ends share. */
struct partner_shared {
	_Atomic int cpu;       /* where the partner ran last */
	_Atomic uint64_t goal; /* the benchmark's own */
};

struct partner {
	pid_t pid;
	int to[2], from[2]; /* pipes; this end writes to[1] and reads from[0] */
	struct partner_shared *shared;
	uint64_t meetings, same_cpu; /* how often the two were seen, and on one CPU */
};

/* fork(2), but the child ends with its parent, however that ends. */
pid_t partner_fork(void);

/* Makes the pipes, forks, pins the child to run->place.partner and calls
 * serve(p, context) there; the child ends when serve returns, or with its parent.
 * Returns 0, or an exit code after an error line. */
int partner_start(struct partner *p, struct run *run,
		  void (*serve)(struct partner *p, void *context), void *context);

/* Ends the child and gives back everything; also for a partner that did not start, or only half. */
void partner_stop(struct partner *p);

/* For unpinned ends: note where each is. Asking for one's CPU may be a system call: now and then
 * is enough. */
enum { LOOK_EVERY = 16 };
void partner_note_self(struct partner *p);
void partner_look(struct partner *p);

/* Adds "same_cpu", the share of looks at which both were on one CPU, and begins anew. */
void partner_describe(struct partner *p, struct json *j);

#endif
