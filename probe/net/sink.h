/* The other end of the network benchmarks. */
#ifndef BV_SINK_H
#define BV_SINK_H

/* `bvprobe sink [--bind ADDRESS] [--port N] [--key TEXT]`: says where it listens and serves
 * sessions until standard input ends. Returns an exit code of the probe. */
int sink(int argc, char *const argv[]);

#endif
