/* Streams of payload, and what arrived of them between two marks. Both ends use it alike. */
#ifndef BV_FLOW_H
#define BV_FLOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STREAMS_MAX = 16,     /* in one direction */
	DATAGRAM_HEADER = 16, /* seconds, microseconds, number; see flow.c */
	BLOCK_MAX = 1 << 20,
};

struct flow;

struct stream {
	struct flow *flow;
	int fd;
	int cpu; /* -1: wherever its maker runs */
	bool sends;
	_Atomic uint64_t bytes;           /* of payload, since it was connected */
	_Atomic uint64_t limit;           /* it receives no more than that */
	_Atomic uint64_t messages;        /* datagrams */
	_Atomic uint64_t highest;         /* number of a datagram received */
	_Atomic uint64_t misordered;      /* datagrams with a number below the highest */
	char *buffer;
	pthread_t thread;
};

struct flow {
	struct stream streams[2 * STREAMS_MAX];
	int count;
	size_t block;  /* most bytes of one call; of datagrams, their size */
	bool datagrams;
	uint64_t rate; /* of datagrams sent, payload in bytes per second; 0: as fast as possible */
	int lifeline;  /* a connection whose end ends a batch: datagrams know of none; 0: none */
	char *memory;  /* of buffers and thread stacks */
	_Atomic bool stop;    /* senders shall end */
	_Atomic int sending;  /* streams at work */
	_Atomic int receiving;
	_Atomic int error;    /* the first negative errno of a stream */
};

/* A connected socket becomes a stream of the flow, which closes it later. */
struct stream *flow_add(struct flow *f, int fd, bool sends);

/* Makes room for all streams: no batch shall allocate or fault. Returns 0 or -ENOMEM. */
int flow_prepare(struct flow *f);

/* One batch: all streams work, the first in this thread and the others in their own, while
 * conduct(context) decides in yet another how long. It must end senders by flow_stop() and
 * receivers by their limits; when it fails, all are ended. Returns what it returned, or the error
 * of a stream. */
int flow_run(struct flow *f, int (*conduct)(void *context), void *context);

void flow_close(struct flow *f);

/* --- for conductors -------------------------------------------------------------------------- */

/* What arrived within a window of time. */
struct window {
	uint64_t bytes, ns, messages, lost, misordered;
};

/* Waits ramp_ms, so that what the pause before did to buffers and to the congestion window has
 * passed, then counts what is received for window_ms. Returns 0 or a negative errno: -ENODATA when
 * nothing arrived. */
int flow_window(struct flow *f, unsigned ramp_ms, unsigned window_ms, struct window *w);

/* The same for senders, by what the receiving kernel has acknowledged. */
int flow_acknowledged(struct flow *f, unsigned ramp_ms, unsigned window_ms, struct window *w);

/* Waits that long, unless a stream fails. Returns 0 or a negative errno. */
int flow_pass(const struct flow *f, unsigned ms);

/* Ends the senders and waits until each has. Returns 0 or a negative errno. */
int flow_stop(struct flow *f);

/* Lets the receivers take what is on its way, totals[i] since it was connected for the i-th of
 * them, or nothing more where totals is NULL. A slow link may have more on its way than can be
 * waited for, as buffers are large: that is left for the next batch, whose ramp it falls into.
 * Returns 0 or a negative errno. */
int flow_drain(struct flow *f, const uint64_t *totals);

/* Payload of all streams of one direction since they were connected. */
uint64_t flow_bytes(const struct flow *f, bool sent);
int flow_streams(const struct flow *f, bool sending);

/* What the kernel says of the streams that send by TCP: segments sent again since they were
 * connected, and the mean of their smoothed round-trip times. False where it says nothing. */
bool flow_tcp_facts(const struct flow *f, uint64_t *retransmits, uint64_t *rtt_ns);

/* The smoothed round-trip time of one TCP connection; 0 where the kernel says nothing. */
uint64_t tcp_rtt_ns(int fd);

#endif
