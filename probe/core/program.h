/* What the programs of the probe share: the table of benchmarks, and the way to each other.
 *
 * The probe is bvprobe; what reaches out of the board or onto its disks is in bvio, which lies
 * beside it, so that each stays small enough to be sent over a serial line. */
#ifndef BV_PROGRAM_H
#define BV_PROGRAM_H

#include "core/batch.h"

/* Ends with NULL. */
typedef const struct benchmark *const benchmark_table[];

/* The benchmark of that id; NULL: none. */
const struct benchmark *program_find(const benchmark_table table, const char *id);

/* Adds the description of each benchmark to a list. */
void program_describe(const benchmark_table table, struct json *j);

/* Becomes the program `name` that lies beside this one, with these words after its name. Returns
 * only when it cannot: a negative errno. `self` is our argv[0], for systems without /proc. */
int program_become(const char *self, const char *name, int argc, char *const argv[]);

/* Adds what the program `name` says to `word` to a list. Returns 0 or a negative errno, and then
 * adds nothing. */
int program_include(const char *self, const char *name, const char *word, struct json *j);

#endif
