/* Under which conditions a thread waits for something to happen: what every benchmark that measures
 * how soon a sleeper runs again takes, says and undoes. */
#ifndef BV_CONDITIONS_H
#define BV_CONDITIONS_H

#include <sched.h>

#include "core/batch.h"

struct conditions {
	bool fifo;
	int priority;
	int dma_fd;       /* held open as long as the use is to hold */
	int dma_error;    /* why dma_us is not known, or 0 */
	int32_t dma_us;   /* the limit in force before us */
	int lock_error;   /* why memory is not locked, or 0 */
	int64_t stolen;   /* ticks that a hypervisor took from our CPU: before the batch, then in it;
			   * -1: not known */
	int load_count;
	pid_t loads[CPU_SETSIZE];
};

/* Lines for the table of parameters. */
#define CONDITION_PARAMS                                                                           \
	{"policy", PARAM_CHOICE, "other", 0, 0, "other fifo",                                      \
	 "how the waiting thread is scheduled: other, as every program is, or fifo, real time"},   \
	{"priority", PARAM_INTEGER, "80", 1, 99, NULL, "real-time priority with policy=fifo"},     \
	{"load", PARAM_CHOICE, "none", 0, 0, "none cpu memory",                                    \
	 "what else runs meanwhile: nothing of ours; cpu: on each CPU that this process may use, " \
	 "the measured one too, an ordinary process that computes without a pause; memory: the "   \
	 "same, writing its way through 16 MiB of its own"},                                       \
	{"dma_latency", PARAM_CHOICE, "leave", 0, 0, "leave zero",                                 \
	 "zero: hold /dev/cpu_dma_latency at 0 as cyclictest does, so that CPUs enter no idle "    \
	 "state which takes time to leave; leave: as the system is"},                              \
	{"slack_ns", PARAM_INTEGER, "auto", 1, 1000000000, NULL,                                   \
	 "how late the kernel may make a timer of this thread to join it with another; auto: as "  \
	 "inherited, 50000 by default; of no effect with policy=fifo"}

/* A line for the table of figures. */
#define STOLEN_FIGURE                                                                              \
	{"stolen_ns", "ns", "", "sum",                                                             \
	 "time that a hypervisor took from this CPU, by the kernel's ticks"}

/* Both return 0 or the exit code of an error line; also after a failure, undo everything. */
int conditions_setup(struct conditions *c, struct run *run);
void conditions_undo(struct conditions *c);

/* Around the waiting: real time begins and ends here, so that nothing else is done in it. */
int conditions_enter(struct conditions *c, const struct run *run);
void conditions_leave(struct conditions *c, const struct run *run);

/* Adds "timer_slack_ns", "dma_latency_us", "memory_locked" and "idle_states" to a line. */
void conditions_describe(const struct conditions *c, const struct run *run, struct json *j);

/* Adds "stolen_ns" to a sample's detail. */
void conditions_detail(const struct conditions *c, struct json *j);

#endif
