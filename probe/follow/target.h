/* What a system call is about: the path, the address or the files that its arguments mean. */
#ifndef BV_FOLLOW_TARGET_H
#define BV_FOLLOW_TARGET_H

#include <stdint.h>
#include <sys/types.h>

#include "follow/calls.h"

enum { TARGET_MAX = 200 };

/* Of a thread that is stopped at the entry of the call. Empty where the call is about nothing that
 * has a name, or where that cannot be read. Addresses that sockets are connected to are kept, as
 * later calls have only the descriptor. */
void target_of(const struct call *call, pid_t tid, const uint64_t arguments[6],
	       char text[TARGET_MAX]);

#endif
