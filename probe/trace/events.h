/* Which events are recorded, and how they are laid out. */
#ifndef BV_TRACE_EVENTS_H
#define BV_TRACE_EVENTS_H

#include "core/json.h"
#include "trace/bytes.h"
#include "trace/tracefs.h"

enum { EVENTS_MAX = 64, EVENT_NAME = 128 };

/* What is asked for: systems ("sched") and single events ("sched/sched_switch"). */
struct events {
	char names[EVENTS_MAX][EVENT_NAME];
	int count;
	char absent[EVENTS_MAX][EVENT_NAME]; /* of a set, and not in this kernel */
	int absent_count;
};

/* Parses SET, SYSTEM, SYSTEM/EVENT or SYSTEM:EVENT, separated by commas, and looks which of them
 * the kernel has. Returns 0, or an exit code after an error line: 2 for what does not exist. */
int events_choose(struct events *events, const struct tracefs *fs, const char *text);

/* Has the kernel record those only that a filter of its own lets through (the file `filter` of each
 * event): SYSTEM/EVENT:FILTER, separated by semicolons. Returns 0, or an exit code after an error
 * line. */
int events_filter(const struct tracefs *fs, const char *text);

/* Enables or disables them: 0, or the negative errno of the first that was refused, and *which. */
int events_enable(const struct events *events, const struct tracefs *fs, bool on,
		  const char **which);

/* Appends the formats as a trace.dat has them: those of ftrace itself, and by system those of the
 * chosen events. */
void events_ftrace_formats(const struct tracefs *fs, struct bytes *out);
void events_formats(const struct events *events, const struct tracefs *fs, struct bytes *out);

#endif
