/* What system calls added up to, by call and by what they were about. */
#ifndef BV_FOLLOW_SUMS_H
#define BV_FOLLOW_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct sum {
	uint64_t number;
	char *target; /* "" where there is none */
	uint64_t count, errors, ns, longest_ns;
	uint64_t votes; /* by how many `error` is ahead of the others */
	int error;      /* errno of most that failed, where one was of more than half */
};

/* All zero to begin with. */
struct sums {
	struct sum *table; /* by hash */
	uint64_t count;    /* of system calls */
	uint64_t lost;     /* of these, for which there was no row any more */
	unsigned used;
};

/* `error` is what the call failed with, 0 where it did not. */
void sums_add(struct sums *sums, uint64_t number, const char *target, uint64_t ns, int error);

/* Sends a line for each, those with the most time first; then, of those that are too many, the
 * files that were opened and executed. Returns 0, or a negative errno when nobody reads them. */
int sums_send(const struct sums *sums);

void sums_free(struct sums *sums);

#endif
