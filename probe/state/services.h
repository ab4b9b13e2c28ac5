/* Which processes there are, by their names. */
#ifndef BV_SERVICES_H
#define BV_SERVICES_H

#include <stdbool.h>

/* Looks at all processes; the others tell of that look. */
void processes_look(void);

/* How many are called so: by the name of their program, or of the script that it runs. */
int processes_called(const char *name);

/* Whether one that is called so started this process, or one that did. */
bool processes_carry_us(const char *name);

#endif
