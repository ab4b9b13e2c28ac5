/* A process that puts everything back when the recorder is killed before it could. */
#ifndef BV_TRACE_GUARD_H
#define BV_TRACE_GUARD_H

#include <sys/types.h>

#include "trace/tracefs.h"

struct guard {
	pid_t pid;
	int alive; /* the recorder's end: its going away is what the guard waits for */
};

/* Returns 0 or a negative errno: without a guard, it is the next recorder that puts things back. */
int guard_start(struct guard *g, const struct tracefs *fs);

/* Everything was put back. */
void guard_dismiss(struct guard *g);

/* Something could not be put back yet: the guard goes on trying, for a minute. */
void guard_leave(struct guard *g);

#endif
