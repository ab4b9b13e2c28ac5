/* Kernel functions that are recorded: each call, or with --graph its begin and its end. */
#ifndef BV_TRACE_FUNCTIONS_H
#define BV_TRACE_FUNCTIONS_H

#include <stdbool.h>

#include "trace/tracefs.h"

/* Has the kernel trace the functions that match one of some patterns, which commas separate. With
 * `graph`, those are the outermost calls, and what they call is recorded to `depth` calls; 0: all.
 * Returns 0, or an exit code after an error line. */
int functions_begin(const struct tracefs *fs, const char *patterns, bool graph, unsigned depth);

/* Has the kernel run another of its tracers (timerlat, osnoise), with the settings that are wanted.
 * Returns 0, or an exit code after an error line. */
int tracer_begin(const struct tracefs *fs, const char *tracer);

#endif
