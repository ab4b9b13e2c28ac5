/* Waiting for the end of a recording: its time, its size, its command, its host, a signal. */
#ifndef BV_TRACE_WATCH_H
#define BV_TRACE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/readers.h"
#include "trace/tracefs.h"

struct watch {
	uint64_t until_ns;    /* on clock_ns(); UINT64_MAX: no limit */
	struct condition *condition; /* that ends it too, `after_ns` later; NULL: none */
	uint64_t after_ns;
	const struct tracefs *stopping; /* what a tracer may stop by itself; NULL: none does */
	uint64_t progress_ns; /* between lines of progress; 0: none */
	bool controlled;      /* orders come on standard input */
	char *const *command; /* to be run meanwhile; NULL: none */
	bool announced;       /* by a mark, where it begins */
	pid_t pid;            /* of it */
	int status;           /* of it, as of waitpid(2); -1: it did not end by itself */
	int marker;           /* what marks are written to */
	int signals;          /* signalfd */
};

/* Holds the signals that end a program back, from here on in all threads, to be looked at while
 * waiting. */
int watch_signals(struct watch *w);

/* From here on they end this program again; one that came too late to matter is forgotten. */
void watch_let_signals(struct watch *w);

/* Says that all is ready, and waits for a line of the host; false when it is gone. */
bool watch_await_start(void);

/* Starts the command; 0 or a negative errno. */
int watch_start_command(struct watch *w, const struct tracefs *fs);

/* Returns why the recording ends, a word for the `recorded` line, or NULL when the host is gone. */
const char *watch_until_end(struct watch *w, struct readers *readers);

/* Ends the command if it still runs. */
void watch_end_command(struct watch *w);

#endif
