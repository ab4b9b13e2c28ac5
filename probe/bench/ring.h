/* Processes in a ring that hand a token on through pipes, each going through memory of its own. */
#ifndef BV_RING_H
#define BV_RING_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/chase.h"

enum { RING_MAX = 1024 };
enum { RING_LINE = 64 }; /* a size gone through in random order is a multiple of it */

struct ring {
	unsigned processes; /* this one is the first */
	size_t size;        /* bytes that each goes through when it has the token */
	bool random;        /* line by line in random order, else every word in order */
	int out, in;        /* to the second, from the last */
	pid_t children[RING_MAX];
	struct chase memory; /* of this process */
};

/* Starts the other processes, on the CPU of this one, and sees the token come round once. They end
 * with this process, however that ends. `r` has its first three members set, the rest is zero.
 * Returns 0 or a negative errno; *started is how many processes there are by then. */
int ring_start(struct ring *r, unsigned *started);
void ring_stop(struct ring *r);

/* `rounds` times through all processes. False when the token was lost, or was not handed on by
 * each of them: it counts that itself. */
bool ring_pass(struct ring *r, uint64_t rounds);

/* Nanoseconds that handing on the token takes without a switch: one process writes it to a pipe,
 * reads it and goes through its memory, which is in the cache. The least of four measurements of
 * `passes` each; negative when there is no pipe to be had. */
double ring_overhead(struct ring *r, uint64_t passes);

/* Reads every word, and gives their sum. */
unsigned long ring_read(const unsigned long *memory, size_t size);

/* Follows a chain as long as there are lines, and gives where it ends: where it began. */
void **ring_chase(void **at, size_t size);

#endif
