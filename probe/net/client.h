/* A session with a sink, from the side that asks. */
#ifndef BV_CLIENT_H
#define BV_CLIENT_H

#include "net/address.h"
#include "net/flow.h"
#include "net/session.h"

/* One batch: what arrived within the window there and here, and what the whole batch took. */
struct batch_result {
	struct window there, here;
	uint64_t moved;       /* payload of the whole batch, both directions */
	bool has_remote_cpu;
	uint64_t remote_cpu_ns; /* of the whole batch, as is what it has moved */
	uint64_t remote_moved;
	bool has_tcp_facts;   /* the next two are of those who send, and of the whole batch */
	uint64_t retransmits;
	uint64_t rtt_ns;
	bool has_misordered;
};

struct client {
	const char *who; /* for error lines */
	struct endpoint remote;
	struct net_test test;
	struct flow flow;
	struct control control;
	char token[TOKEN + 1]; /* that streams belong by */
	struct address address; /* of the control connection's other end */
	int sessions; /* that the sink serves, with this one */
	unsigned ramp_ms, window_ms;
	struct batch_result result;
};

/* Opens the session and its streams: who, remote and test are set, the rest is zero.
 * Returns 0 or an exit code after an error line. */
int client_open(struct client *c, const char *key);

/* One batch; fills in result. Returns 0 or 1 after an error line. */
int client_batch(struct client *c, unsigned ramp_ms, unsigned window_ms);

void client_close(struct client *c);

#endif
