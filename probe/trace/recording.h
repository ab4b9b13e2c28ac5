/* What is known of a recording, and what of it goes into the file. */
#ifndef BV_TRACE_RECORDING_H
#define BV_TRACE_RECORDING_H

#include "core/json.h"
#include "trace/condition.h"
#include "trace/datfile.h"
#include "trace/events.h"
#include "trace/readers.h"
#include "trace/tracefs.h"

enum { CAVEATS = 4, STATS_MAX = 768 };

struct recording {
	struct tracefs fs;
	struct events events;
	struct readers readers;
	struct condition condition;
	struct dat dat;
	char clock[32], clock_text[256];
	uint64_t buffer_kb; /* of each CPU, as the kernel has it */
	uint64_t cap;       /* bytes of data */
	int marker;         /* what marks are written to */
	bool with_kallsyms, with_wall_time;
	const char *ended;  /* why */
	uint64_t recorded_ns, wall_ns, cpu_ns;
	int command_status;
	int release_error;
	char (*stats)[STATS_MAX]; /* of each reader's CPU, once ended */
	char uptime[64];
	const char *caveats[CAVEATS];
	int caveat_count;
};

/* What does not change while recording, and, once ended, what does. */
void recording_read_formats(struct recording *r);
void recording_read_rest(struct recording *r);

/* Adds what it was begun with, or what became of it, to a line. */
void recording_describe(const struct recording *r, struct json *j);
void recording_sum_up(const struct recording *r, struct json *j);

void recording_free(struct recording *r);

#endif
