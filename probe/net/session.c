/* A session, from the side that was asked. See session.h and docs/net-protocol.md. */
#include "net/session.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/place.h"
#include "net/address.h"
#include "net/cost.h"
#include "net/flow.h"

struct session {
	struct control *control;
	struct net_test test;
	struct flow flow;
	unsigned ramp_ms, window_ms;
};

static bool parse_test(const char *line, struct net_test *t)
{
	uint64_t n[8];

	if (strncmp(line, "test ", 5) != 0 || control_numbers(line + 5, n, 8) != 8)
		return false;
	if (n[0] >= NET_KINDS || n[1] > STREAMS_MAX || n[2] > STREAMS_MAX || n[1] + n[2] == 0 ||
	    n[4] > 1 << 30 || n[5] > 1 || n[7] > 1024)
		return false;
	*t = (struct net_test){(enum net_kind)n[0], (int)n[1], (int)n[2], (size_t)n[3], (int)n[4],
			       n[5] == 1,	    n[6],      (int)n[7] - 1};
	if (net_is_echo(t->kind) || net_by_datagrams(t->kind)) {
		if (n[1] + n[2] != 1)
			return false;
	}
	if (net_by_datagrams(t->kind))
		return n[3] >= (t->kind == NET_UDP ? DATAGRAM_HEADER : 1) && n[3] <= DATAGRAM_MAX;
	return n[3] >= 1 && n[3] <= BLOCK_MAX;
}

/* --- streams --------------------------------------------------------------------------------- */

/* A descriptor that the sink hands over, or a negative errno. */
static int take_descriptor(int handover)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} extra = {0};
	char byte;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = extra.room,
				 .msg_controllen = sizeof(extra.room)};
	struct pollfd in = {.fd = handover, .events = POLLIN};
	int fd;

	if (poll(&in, 1, SILENCE_MS) <= 0)
		return -ETIMEDOUT;
	if (recvmsg(handover, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -ECONNRESET;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static int take_streams(struct session *s, int handover)
{
	int nodelay = s->test.nodelay;

	for (int i = 0; i < s->test.send + s->test.receive; i++) {
		struct control stream = {.fd = take_descriptor(handover)};
		if (stream.fd < 0)
			return stream.fd;
		flow_add(&s->flow, stream.fd, i >= s->test.send);
		socket_watch(stream.fd);
		socket_buffers(stream.fd, s->test.buffer);
		setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof(nodelay));
		int error = control_send(&stream, "ok");
		if (error)
			return error;
	}
	return 0;
}

/* A socket for datagrams where the control connection arrived; of the same port if that is free,
 * so that a firewall has to let but one number through. */
static int bind_datagrams(const struct session *s, unsigned *port)
{
	struct address here;
	int fd, error = address_local(s->control->fd, &here);

	if (error)
		return error;
	fd = socket(here.socket.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&here.socket, here.length) < 0) {
		address_set_port(&here, 0);
		if (bind(fd, (struct sockaddr *)&here.socket, here.length) < 0) {
			error = -errno;
			close(fd);
			return error;
		}
	}
	socket_watch(fd);
	socket_buffers(fd, s->test.buffer);
	if (address_local(fd, &here) == 0)
		*port = address_port(&here);
	return fd;
}

/* Waits for the datagram that holds the token, and from then on knows no other sender. */
static int meet_datagrams(struct session *s, int fd, const char *token)
{
	uint64_t until = clock_ns() + SILENCE_MS * 1000000ull;
	char text[TOKEN + 1];
	struct address from;

	while (clock_ns() < until) {
		from.length = sizeof(from.socket);
		ssize_t n = recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from.socket,
				     &from.length);
		if (n != TOKEN || memcmp(text, token, TOKEN) != 0)
			continue;
		if (connect(fd, (struct sockaddr *)&from.socket, from.length) < 0)
			return -errno;
		flow_add(&s->flow, fd, s->test.receive > 0);
		return send(fd, "ok", 2, MSG_NOSIGNAL) == 2 ? 0 : -errno;
	}
	return -ETIMEDOUT;
}

/* --- batches --------------------------------------------------------------------------------- */

static int expect_stop(struct session *s, uint64_t *totals)
{
	/* The other side decides how long its own window is: while it lives, we wait. */
	return control_expect(s->control, "stop", totals, s->test.send, INT32_MAX, &s->flow.error);
}

static int conduct(void *context)
{
	struct session *s = context;
	struct flow *f = &s->flow;
	uint64_t totals[STREAMS_MAX], before = 0, after = 0, rtt = 0;
	uint64_t cpu = cost_own_ns();
	uint64_t moved = flow_bytes(f, true) + flow_bytes(f, false);
	char sent[STREAMS_MAX * 21 + 1] = "";
	struct window w = {0};
	size_t length = 0;
	int error = 0;

	flow_tcp_facts(f, &before, &rtt);
	if (s->test.send > 0) {
		error = flow_window(f, s->ramp_ms, s->window_ms, &w);
		if (error == 0 || error == -ENODATA)
			error = control_send(s->control, "window %llu %llu %llu %llu %llu",
					     (unsigned long long)w.bytes, (unsigned long long)w.ns,
					     (unsigned long long)w.messages,
					     (unsigned long long)w.lost,
					     (unsigned long long)w.misordered);
	}
	if (error == 0)
		error = expect_stop(s, totals);
	flow_tcp_facts(f, &after, &rtt);
	if (error == 0)
		error = flow_stop(f);
	if (error == 0)
		error = flow_drain(f, f->datagrams ? NULL : totals);
	if (error)
		return error;
	for (int i = 0; i < f->count; i++)
		if (f->streams[i].sends)
			length += (size_t)snprintf(sent + length, sizeof(sent) - length, " %llu",
						   (unsigned long long)f->streams[i].bytes);
	moved = flow_bytes(f, true) + flow_bytes(f, false) - moved;
	return control_send(s->control, "done %llu %llu %llu %llu%s",
			    (unsigned long long)(cost_own_ns() - cpu), (unsigned long long)moved,
			    (unsigned long long)(after - before), (unsigned long long)rtt, sent);
}

static int wait_for_batch(struct session *s)
{
	uint64_t n[2];
	int error;

	do { /* the other side may take its time between batches; keepalive tells when it is gone */
		error = control_expect(s->control, "batch", n, 2, INT32_MAX, NULL);
	} while (error == -ETIMEDOUT);
	if (error)
		return error;
	if (n[0] > 60000 || n[1] > 600000)
		return -EPROTO;
	s->ramp_ms = (unsigned)n[0];
	s->window_ms = (unsigned)n[1];
	return 0;
}

/* --- echo ------------------------------------------------------------------------------------ */

/* The other side is gone when the control connection is. */
static bool goes_on(struct session *s)
{
	int error = control_fill(s->control);

	return error == 0 || error == -EAGAIN;
}

static void echo(struct session *s)
{
	bool datagrams = net_by_datagrams(s->test.kind);
	int fd = s->flow.streams[0].fd;
	char *message = malloc(s->test.size);
	size_t have = 0;

	while (message) {
		ssize_t n = recv(fd, message + have, s->test.size - have, 0);
		if (n == 0 && !datagrams)
			break;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;
		if (n < 0 && !goes_on(s))
			break;
		if (n <= 0)
			continue;
		have += (size_t)n;
		if (!datagrams && have < s->test.size)
			continue;
		if (send(fd, message, have, MSG_NOSIGNAL) < 0)
			break;
		have = 0;
	}
	free(message);
}

void session_serve(struct control *control, int handover, const char *token)
{
	static struct session s;
	unsigned port = 0;
	char *line;
	int fd = -1, error;

	s.control = control;
	if (control_wait(control, &line, SILENCE_MS, NULL) < 0)
		return;
	bool well = parse_test(line, &s.test) && place_pin(s.test.cpu) == 0;
	bool datagrams = net_by_datagrams(s.test.kind);
	if (well && datagrams)
		well = (fd = bind_datagrams(&s, &port)) >= 0;
	if (!well) {
		control_send(control, "error");
		return;
	}
	s.flow.block = s.test.size;
	s.flow.datagrams = datagrams;
	s.flow.rate = s.test.rate;
	s.flow.lifeline = control->fd;
	if (control_send(control, "ready %u", port) < 0)
		return;
	error = datagrams ? meet_datagrams(&s, fd, token) : take_streams(&s, handover);
	if (error == 0 && net_is_echo(s.test.kind)) {
		echo(&s);
		return;
	}
	if (error == 0)
		error = flow_prepare(&s.flow);
	while (error == 0 && wait_for_batch(&s) == 0)
		error = flow_run(&s.flow, conduct, &s);
}
