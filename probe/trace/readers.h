/* The threads that take the kernel's ring buffers, one for each CPU, into memory of ours. */
#ifndef BV_TRACE_READERS_H
#define BV_TRACE_READERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/condition.h"
#include "trace/page.h"
#include "trace/tracefs.h"

/* Memory, and not a file: the medium that a file would go to may be under test. */
struct chunk {
	struct chunk *next;
	char *data;
	size_t used;
};

struct readers;

struct reader {
	struct readers *all;
	pthread_t thread;
	bool started;
	int cpu; /* whose buffer it reads */
	int fd;
	int error; /* that ended it: negative errno */
	struct chunk *first, *last;
	size_t bytes;
	uint64_t overwritten; /* events that were read, and gave way to newer ones */
	uint64_t cpu_ns;      /* its own CPU time */
};

struct readers {
	struct reader *each;
	int count;
	struct page_layout layout;
	int on_cpu;              /* where they run; -1: anywhere */
	size_t enough;           /* bytes after which `full` is told */
	size_t chunk;            /* bytes of a chunk */
	size_t share;            /* bytes of a reader, which keeps the newest; 0: it keeps all */
	struct condition *condition;
	_Atomic size_t bytes;    /* of all */
	_Atomic bool out_of_memory;
	int stop, full;          /* eventfds: for them, from them */
};

/* Opens the buffers of all CPUs. Returns 0, or an exit code after an error line. */
int readers_open(struct readers *r, const struct tracefs *fs);

/* Of so many bytes, all together, `full` is told; or, with `newest`, what was read first gives way to
 * what comes, the same for each CPU. */
void readers_keep(struct readers *r, size_t bytes, bool newest);

/* Starts a thread each. Returns 0, or an exit code after an error line. */
int readers_start(struct readers *r);

/* Has them take what is left, once nothing is added any more, and waits for them. */
void readers_finish(struct readers *r);

/* Gives back all but what was read. */
void readers_close(struct readers *r);

void readers_free(struct readers *r);

#endif
