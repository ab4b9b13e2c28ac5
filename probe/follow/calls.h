/* System calls by number: their names, and which argument says what they are about. */
#ifndef BV_FOLLOW_CALLS_H
#define BV_FOLLOW_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum about {
	ABOUT_NOTHING,
	ABOUT_PATH,    /* the argument is a path */
	ABOUT_FILE,    /* a file descriptor */
	ABOUT_ADDRESS, /* an address of a socket; its length follows, the descriptor is the first */
	ABOUT_POLLED,  /* an array for poll(2); its length follows */
	ABOUT_SELECTED, /* a number of descriptors; three sets follow */
	ABOUT_EPOLL,   /* a descriptor of epoll(7) */
};

struct call {
	const char *name;
	enum about about;
	int argument;
};

/* False for a call that has no name here. */
bool call_find(uint64_t number, struct call *call);

#endif
