/* System calls by number. See calls.h. */
#include "follow/calls.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* As small as can be: numbers, and the names one behind the other in the same order. */
static const struct {
	uint16_t number;
	uint8_t about, argument;
} calls[] = {
#define CALL(name, about, argument) {SYS_##name, ABOUT_##about, argument},
#include "follow/calls_list.h"
#undef CALL
};

static const char names[] =
#define CALL(name, about, argument) #name "\0"
#include "follow/calls_list.h"
#undef CALL
;

bool call_find(uint64_t number, struct call *call)
{
	const char *name = names;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == number) {
			*call = (struct call){name, calls[i].about, calls[i].argument};
			return true;
		}
		name += strlen(name) + 1;
	}
	return false;
}
