/* The state of a process that a followed command consists of. */
#ifndef BV_FOLLOW_STATE_H
#define BV_FOLLOW_STATE_H

#include <sys/types.h>

/* Sends a line `process` about the process of a thread that is stopped: what it was given (program,
 * environment, limits, scheduling, control groups, namespaces, mounts) and which files it has
 * mapped. Only the main thread's process is described, the first time it is asked for, and mounts
 * only once for each namespace. Returns 0, or a negative errno when nobody can read it. */
int state_send(pid_t tid);

/* Sends a line `confinement` about what the process of a stopped thread may do: its filters of system
 * calls, capabilities, profile. Nothing where one that was sent before had all of it alike. Returns
 * 0, or a negative errno when nobody can read it. */
int confinement_send(pid_t tid);

#endif
