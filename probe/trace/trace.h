/* `bvprobe trace`: records what the kernel does into a trace.dat. */
#ifndef BV_TRACE_H
#define BV_TRACE_H

/* Takes `--name value` pairs and, behind `--`, a command to be run meanwhile. */
int trace(int argc, char *const argv[]);

#endif
