/* `bvprobe follow`: runs a command and sums up the system calls of all its processes. */
#ifndef BV_FOLLOW_H
#define BV_FOLLOW_H

/* Takes `--name value` pairs. See docs/probe-protocol.md. */
int follow(int argc, char *const argv[]);

#endif
