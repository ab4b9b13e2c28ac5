/* Threads that do a job together, each pinned to a CPU of its own. */
#ifndef BV_TEAM_H
#define BV_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/batch.h"

struct team;

struct member {
	struct team *team;
	int index;
	int cpu;
	int error; /* of pinning it: negative errno */
	pthread_t thread;
	uint64_t begin_ns, end_ns; /* of its part of the last job */
};

struct team {
	int count; /* members; 0: not started */
	struct member *members;
	void (*job)(int member, void *context); /* NULL: the end */
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned round;
	_Atomic int arrived, finished;
};

/* Starts `threads` members (AUTO: one for each CPU that the process may use), the calling thread,
 * which stays on run->place.cpu, as the first, the others on the fastest CPUs that are left.
 * Returns 0, or an exit code after an error line. */
int team_start(struct team *team, struct run *run, uint64_t threads);

/* Has every member do job(member, context), all from the same moment on, and returns when the last
 * is done. Members wait for the next job asleep. */
void team_do(struct team *team, void (*job)(int member, void *context), void *context);

/* Of the last job: nanoseconds from when the first member began until the last had finished, and
 * until the first had. */
uint64_t team_ns(const struct team *team);
uint64_t team_first_ns(const struct team *team);

/* Ends the threads and gives back everything; also for a team that did not start, or only half. */
void team_stop(struct team *team);

#endif
