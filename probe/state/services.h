/* Which processes there are, by their names, and commands as process 1 would run them. */
#ifndef BV_SERVICES_H
#define BV_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

/* Looks at all processes; the others tell of that look. */
void processes_look(void);

/* How many are called so: by the name of their program, or of the script that it runs. */
int processes_called(const char *name);

/* Whether one that is called so started this process, or one that did. */
bool processes_carry_us(const char *name);

/* The output of a command that ends soon, at most size - 1 bytes; 0 or a negative errno, -EIO where
 * its status is not 0. What it leaves running may keep the other end open: only its own end counts.
 * Its environment, limits, control groups and priority are those of process 1. */
int run_as_init(char *const argv[], char *output, size_t size);

#endif
