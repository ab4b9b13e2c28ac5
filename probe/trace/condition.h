/* What a recording waits for: an event, or a thread that waited longer for a CPU than it may. */
#ifndef BV_TRACE_CONDITION_H
#define BV_TRACE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "trace/page.h"
#include "trace/tracefs.h"

enum { CONDITION_NAME = 128, COMM = 16 };

struct sighting; /* an event that may matter */
struct waiter;   /* what is known of a thread */

/* A field of an event, from the begin of its data. */
struct place {
	size_t offset, size;
};

/* It looks at the pages that readers have taken, and costs the kernel nothing. */
struct condition {
	char event[CONDITION_NAME]; /* SYSTEM/EVENT; empty: a wait for a CPU */
	uint64_t limit_ns;          /* of such a wait */
	char comm[COMM + 1];        /* of the thread that waits; empty: any */
	bool wanted;                /* there is one */

	int id, waking, waking_new, switching; /* numbers of events */
	struct place pid, new_pid, next_pid, next_comm, prev_pid, prev_state;

	pthread_mutex_t lock;
	struct sighting *seen; /* by the readers, in no order */
	size_t count, size;
	uint64_t newest, horizon[4];
	struct waiter *waiters; /* by thread: open addressing */
	size_t waiter_count, waiter_size;

	bool met;
	uint64_t at_ns; /* on the trace's clock */
	long thread;    /* that waited */
	uint64_t waited_ns;
};

/* Parses SYSTEM/EVENT, or `wakeup>NS` and `wakeup:NAME>NS`; an empty text is none. Returns 0, or an
 * exit code after an error line. */
int condition_parse(struct condition *c, const char *text);

/* Looks in the formats of the kernel where what it needs is. Returns 0, or an exit code after an
 * error line. */
int condition_prepare(struct condition *c, const struct tracefs *fs);

/* What a reader has taken. */
void condition_page(struct condition *c, const struct page_layout *layout, const char *page);

/* Looks at what has been taken; to be called every CONDITION_PAUSE_MS. True from when it is met. */
enum { CONDITION_PAUSE_MS = 100 };
bool condition_look(struct condition *c);

/* Adds what was seen to a line. */
void condition_describe(const struct condition *c, struct json *j);

void condition_free(struct condition *c);

#endif
