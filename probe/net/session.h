/* What both ends of a session know: the test that is asked for. See docs/net-protocol.md. */
#ifndef BV_SESSION_H
#define BV_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/control.h"

#define NET_PORT "5210"

enum { KEY_MAX = 64, TOKEN = 32, SESSIONS_MAX = 4 };

/* An echo answers each message of that size with the same. */
enum net_kind { NET_TCP, NET_UDP, NET_ECHO_TCP, NET_ECHO_UDP, NET_KINDS };

struct net_test {
	enum net_kind kind;
	int send, receive; /* streams, as the side sees it that asks */
	size_t size;       /* of a block or a message */
	int buffer;        /* of sockets; 0: as the system likes */
	bool nodelay;
	uint64_t rate;     /* see struct flow */
	int cpu;           /* of the other end; -1: any */
};

static inline bool net_by_datagrams(enum net_kind kind)
{
	return kind == NET_UDP || kind == NET_ECHO_UDP;
}

static inline bool net_is_echo(enum net_kind kind)
{
	return kind == NET_ECHO_TCP || kind == NET_ECHO_UDP;
}

/* The side that was asked: serves the session until its control connection ends. Streams come
 * through the socket `handover`, as descriptors; datagrams begin with the token. */
void session_serve(struct control *control, int handover, const char *token);

#endif
