/* What system calls added up to, by call and by what they were about. */
#ifndef BV_FOLLOW_SUMS_H
#define BV_FOLLOW_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Which call, about what ("" where that is nothing), and by whom. */
struct call_key {
	uint64_t number;
	const char *target;
	pid_t task;
};

struct sum {
	uint64_t number;
	char *target;
	pid_t task; /* who was the first to make it */
	uint64_t count, errors, ns, longest_ns;
	uint64_t votes; /* by how many `error` is ahead of the others */
	int error;      /* errno of most that failed, where one was of more than half */
};

/* All zero to begin with. */
struct sums {
	struct sum *table; /* by hash */
	uint64_t count;    /* of system calls */
	uint64_t lost;     /* of these, for which there was no row any more */
	unsigned slots;
	unsigned used;
};

/* A call that took so long; `error` is what it failed with, 0 where it did not. */
void sums_add(struct sums *sums, const struct call_key *call, uint64_t ns, int error);

/* Sends a line for each, those with the most time first; then, of those that are too many, the
 * files that were opened and executed, those first of which there are few: what a process goes
 * through by thousands, or finds in one place by thousands, hides no other's files. Returns 0, or a
 * negative errno when nobody reads them. */
int sums_send(const struct sums *sums);

void sums_free(struct sums *sums);

#endif
