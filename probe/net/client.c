/* A session with a sink, from the side that asks. See client.h. */
#include "net/client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"

static int refused(const struct client *c, const char *line)
{
	unsigned version;

	if (strcmp(line, "refused key") == 0)
		return json_error(1, EACCES, "%s: the sink at %s port %s does not accept the key: "
					     "give the one that it was started with (--key)",
				  c->who, c->remote.host, c->remote.port);
	if (strcmp(line, "refused busy") == 0)
		return json_error(1, EBUSY, "%s: the sink at %s port %s already serves %d sessions: "
					    "wait for one to end, or start another sink",
				  c->who, c->remote.host, c->remote.port, SESSIONS_MAX);
	if (sscanf(line, "refused version %u", &version) == 1)
		return json_error(1, EPROTO, "%s: the sink at %s port %s speaks version %u of the "
					     "protocol, this probe version %d: start the sink of "
					     "the same Benchvise as the probe",
				  c->who, c->remote.host, c->remote.port, version, NET_PROTOCOL);
	return json_error(1, EPROTO, "%s: what answers at %s port %s is no sink of Benchvise: start "
				     "`bvprobe sink` there (an iperf3 server needs "
				     "protocol=iperf3)",
			  c->who, c->remote.host, c->remote.port);
}

/* -EPROTO and -EREMOTEIO are of the sink; an end without a word is most often of something that is
 * no sink at all. */
static int no_session(const struct client *c, int error)
{
	return error == -ECONNRESET || error == -EPROTO ? refused(c, "")
							: endpoint_lost(c->who, &c->remote, error);
}

static int greet(struct client *c, const char *key)
{
	char *line;
	int error = control_send(&c->control, NET_GREETING " %d session %s", NET_PROTOCOL, key);

	if (error == 0)
		error = control_wait(&c->control, &line, SILENCE_MS, NULL);
	if (error)
		return no_session(c, error);
	if (sscanf(line, "ok %32[0-9a-f] %d", c->token, &c->sessions) != 2 ||
	    strlen(c->token) != TOKEN)
		return refused(c, line);
	return 0;
}

static int connect_stream(struct client *c, const struct address *to)
{
	struct control hello = {.fd = address_connect(to, SOCK_STREAM, c->test.buffer)};
	int nodelay = c->test.nodelay;
	int error = hello.fd < 0 ? hello.fd : 0;

	if (error == 0)
		error = control_send(&hello, NET_GREETING " %d stream %s", NET_PROTOCOL, c->token);
	if (error == 0)
		error = control_expect(&hello, "ok", NULL, 0, SILENCE_MS, NULL);
	if (error == 0)
		setsockopt(hello.fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof(nodelay));
	if (error && hello.fd >= 0)
		close(hello.fd);
	return error ? error : hello.fd;
}

/* The sink learns from the first datagram where this end is, whatever is between the two. */
static int connect_datagrams(struct client *c, const struct address *to)
{
	int fd = address_connect(to, SOCK_DGRAM, c->test.buffer);
	enum { TRIES = 100, SAY_EVERY = 10 };
	char answer[4] = "";

	if (fd < 0)
		return fd;
	for (int i = 0; i < TRIES; i++) {
		if (i % SAY_EVERY == 0)
			send(fd, c->token, TOKEN, MSG_NOSIGNAL);
		if (recv(fd, answer, sizeof(answer), 0) == 2 && memcmp(answer, "ok", 2) == 0)
			return fd;
	}
	close(fd);
	return -EHOSTUNREACH;
}

static int ask(struct client *c, uint64_t *port)
{
	const struct net_test *t = &c->test;
	int error = control_send(&c->control, "test %d %d %d %zu %d %d %llu %d", (int)t->kind,
				 t->send, t->receive, t->size, t->buffer, t->nodelay,
				 (unsigned long long)t->rate, t->cpu + 1);

	return error ? error
		     : control_expect(&c->control, "ready", port, 1, SILENCE_MS, NULL);
}

static int open_streams(struct client *c, uint64_t port)
{
	const struct net_test *t = &c->test;
	bool datagrams = net_by_datagrams(t->kind);
	int error = address_remote(c->control.fd, &c->address);
	struct address to = c->address;

	if (datagrams)
		address_set_port(&to, (unsigned)port);
	for (int i = 0; i < t->send + t->receive && error == 0; i++) {
		int fd = datagrams ? connect_datagrams(c, &to) : connect_stream(c, &to);
		if (fd < 0)
			error = fd;
		else
			flow_add(&c->flow, fd, i < t->send);
	}
	if (error && datagrams)
		return json_error(1, -error, "%s: datagrams do not get through to %s port %llu "
					     "and back: check the firewalls on the way",
				  c->who, c->remote.host, (unsigned long long)port);
	return error ? endpoint_lost(c->who, &c->remote, error) : 0;
}

int client_open(struct client *c, const char *key)
{
	uint64_t port;
	int status;

	c->flow.block = c->test.size;
	c->flow.datagrams = net_by_datagrams(c->test.kind);
	c->flow.rate = c->test.rate;
	c->control.fd = -1;
	status = endpoint_connect(&c->remote, c->who, 0, &c->control.fd);
	c->flow.lifeline = status ? 0 : c->control.fd;
	if (status == 0)
		status = greet(c, key);
	if (status)
		return status;
	int error = ask(c, &port);
	if (error == -EREMOTEIO)
		return json_error(1, EREMOTEIO, "%s: the sink at %s port %s cannot do that test: "
						"see peer_cpu= and buffer=, and whether it has memory",
				  c->who, c->remote.host, c->remote.port);
	if (error)
		return no_session(c, error);
	status = open_streams(c, port);
	if (status == 0 && !net_is_echo(c->test.kind) && flow_prepare(&c->flow))
		status = json_error(1, ENOMEM, "%s: no memory for %d streams", c->who,
				    c->flow.count);
	return status;
}

/* --- a batch --------------------------------------------------------------------------------- */

static int tell_totals(struct client *c)
{
	char totals[STREAMS_MAX * 21 + 1] = "";
	size_t length = 0;

	for (int i = 0; i < c->test.send; i++)
		length += (size_t)snprintf(totals + length, sizeof(totals) - length, " %llu",
					   (unsigned long long)c->flow.streams[i].bytes);
	return control_send(&c->control, "stop%s", totals);
}

/* What the sink says when its senders have ended and its receivers have everything. */
static int take_done(struct client *c, uint64_t *totals)
{
	enum { FIRST = 4 }; /* numbers before the totals */
	uint64_t numbers[FIRST + STREAMS_MAX];
	struct batch_result *r = &c->result;
	int error = control_expect(&c->control, "done", numbers, FIRST + c->test.receive,
				   SILENCE_MS, &c->flow.error);

	if (error)
		return error;
	r->remote_cpu_ns = numbers[0];
	r->remote_moved = numbers[1];
	if (c->test.receive > 0) /* else the sender is here alone */
		r->retransmits += numbers[2];
	if (c->test.send == 0)
		r->rtt_ns = numbers[3];
	memcpy(totals, numbers + FIRST, (size_t)c->test.receive * sizeof(*totals));
	return 0;
}

static int conduct(void *context)
{
	struct client *c = context;
	struct batch_result *r = &c->result;
	struct window *w = &r->there;
	uint64_t totals[STREAMS_MAX], numbers[5];
	uint64_t before = 0, after, rtt;
	int error = control_send(&c->control, "batch %u %u", c->ramp_ms, c->window_ms);

	flow_tcp_facts(&c->flow, &before, &rtt);
	if (error == 0 && c->test.receive > 0)
		error = flow_window(&c->flow, c->ramp_ms, c->window_ms, &r->here);
	if (error == 0 && c->test.send > 0) {
		error = control_expect(&c->control, "window", numbers, 5,
				       (int)(c->ramp_ms + c->window_ms + SILENCE_MS),
				       &c->flow.error);
		if (error == 0)
			*w = (struct window){numbers[0], numbers[1], numbers[2], numbers[3],
					     numbers[4]};
		if (error == 0 && (w->bytes == 0 || w->ns == 0))
			error = -ENODATA;
	}
	if (flow_tcp_facts(&c->flow, &after, &rtt)) {
		r->retransmits = after - before;
		r->rtt_ns = rtt;
	}
	if (error == 0)
		error = flow_stop(&c->flow);
	if (error == 0)
		error = tell_totals(c);
	if (error == 0)
		error = take_done(c, totals);
	return error ? error : flow_drain(&c->flow, c->flow.datagrams ? NULL : totals);
}

int client_batch(struct client *c, unsigned ramp_ms, unsigned window_ms)
{
	uint64_t moved = flow_bytes(&c->flow, true) + flow_bytes(&c->flow, false);
	int error;

	c->ramp_ms = ramp_ms;
	c->window_ms = window_ms;
	c->result = (struct batch_result){.has_tcp_facts = !c->flow.datagrams,
					  .has_remote_cpu = true,
					  .has_misordered = c->flow.datagrams};
	error = flow_run(&c->flow, conduct, c);
	c->result.moved = flow_bytes(&c->flow, true) + flow_bytes(&c->flow, false) - moved;
	return error ? endpoint_lost(c->who, &c->remote, error) : 0;
}

void client_close(struct client *c)
{
	flow_close(&c->flow);
	if (c->control.fd >= 0)
		close(c->control.fd);
	c->control.fd = -1;
}
