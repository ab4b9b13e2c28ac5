/* The file of a recording, to where it was asked for. */
#ifndef BV_TRACE_DELIVER_H
#define BV_TRACE_DELIVER_H

#include "trace/recording.h"

/* Writes the trace.dat to a file or, for "-", a `file` line and as many bytes as it says to
 * standard output, and then the `recorded` line. Returns 0, or an exit code after an error line. */
int deliver(struct recording *r, const char *output);

#endif
