/* What the network benchmarks share: the remote host, and where our end runs. */
#ifndef BV_BENCH_NET_H
#define BV_BENCH_NET_H

#include "core/batch.h"
#include "net/client.h"
#include "net/interface.h"

#define NET_REMOTE_PARAMS                                                                      \
	{"peer", PARAM_TEXT, "auto", 1, 255, NULL,                                           \
	 "the other end: ADDRESS[:PORT] or [V6]:PORT of a `bvprobe sink`; auto: the host "   \
	 "starts one and says where"},                                                       \
	{"key", PARAM_TEXT, "", 0, KEY_MAX, NULL,                                            \
	 "what the sink was started with; no part of what is measured"}

#define NET_PLACE_PARAMS                                                                     \
	{"affinity", PARAM_CHOICE, "auto", 0, 0, "auto same other",                          \
	 "our end against the CPU that serves the interface's interrupts: on the same, on "  \
	 "another, or auto: as cpu says"},                                                   \
	{"peer_cpu", PARAM_INTEGER, "auto", 0, 1023, NULL,                                   \
	 "CPU of the remote host's end; auto: not pinned"}

struct net {
	struct client client;
	struct interface interface;
	bool iperf3;
	int interrupt_cpu;     /* -1: none */
	unsigned ramp_ms;
	uint64_t own_ns;       /* CPU time of the last batch */
	int64_t system_ns;     /* negative: not known */
	uint64_t irqs, irqs_here; /* of the interface in the last batch; here: on our CPU */
};

/* Takes the remote host out of the parameters. Returns 0 or an exit code after an error line. */
int net_find_remote(struct run *run, struct net *n, const char *port);

/* What is known once the connection stands, with the caveats that follow from it. */
void net_look_at_interface(struct run *run, struct net *n, int fd);

/* Pins our end as `affinity` says, after a warm-up has shown which CPU the interrupts go to.
 * Returns 0 or an exit code after an error line. */
int net_place(struct run *run, struct net *n);

/* Adds "network": {…} to the begin line; fd is a connected socket of the benchmark. */
void net_describe(const struct net *n, int fd, struct json *j);

#endif
