/* A message there and back through two pipes. */
#ifndef BV_PINGPONG_H
#define BV_PINGPONG_H

#include "core/batch.h"
#include "core/partner.h"

enum { MESSAGE_MAX = 4096 };

struct pingpong {
	struct partner partner;
	size_t message;
	bool unpinned;
	double overhead_ns; /* of one pass through a pipe in one process */
	char data[MESSAGE_MAX];
};

int pingpong_setup(struct run *run, size_t message);
/* `iterations` round trips. */
int pingpong_batch(struct run *run, uint64_t iterations);
/* Nanoseconds that a write and a read of such a message take in one process: the least of four
 * measurements, together `iterations` long. An interrupt in it would be subtracted from the
 * result. */
int pingpong_overhead(struct run *run, uint64_t iterations, double *ns);
void pingpong_detail(const struct run *run, struct json *j);
void pingpong_teardown(struct run *run);

#endif
