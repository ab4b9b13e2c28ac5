/* Many requests over one connection. */
#ifndef BV_SERVE_H
#define BV_SERVE_H

/* Runs one command line, as main() would. */
typedef int command_line(int argc, char *const argv[]);

/* Answers requests from standard input until it ends. `self` is the program's own path, for
 * fresh processes. Returns 0, or 1 when nobody reads the answers. */
int serve(command_line *run, const char *self);

#endif
