/* The remote end of a serial line under test. */
#ifndef BV_ECHO_H
#define BV_ECHO_H

/* `bvprobe echo --port PATH [--baud N] [--flow none|xonxoff|rtscts]`: sends back what comes, byte
 * for byte, until standard input ends; then says how much it was and puts the port's settings back.
 * Returns an exit code of the probe. */
int echo(int argc, char *const argv[]);

#endif
