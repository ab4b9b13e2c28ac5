/* Attributes of the measuring process, which the commands that it starts inherit: what a setting of
 * the whole board does, for this process alone, and mostly without root. */
#ifndef BV_ATTRIBUTES_H
#define BV_ATTRIBUTES_H

#include <stdbool.h>

#include "core/json.h"

/* Takes the pairs `--as NAME=VALUE[,NAME=VALUE]...` out of argv, wherever they stand between other
 * pairs, and gives this process the attributes. `again` is set when one of them holds only for a
 * program that is executed from here on. Returns 0, or after an error line 2 (there is no such
 * attribute or value) or 77 (this kernel or user may not). Text that was in argv may be cut up. */
int attributes_take(int *argc, char *argv[], bool *again);

/* The resources that have limits, by their names. */
enum { LIMIT_KINDS = 15 };
extern const struct limit_kind {
	const char *name;
	int resource;
} limit_kinds[];

/* Adds "attributes": name and summary of each, to a line. */
void attributes_describe(struct json *j);

#endif
