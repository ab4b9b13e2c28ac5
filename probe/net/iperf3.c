/* Sessions with an iperf3 server. See iperf3.h.
 *
 * Control is a TCP connection that begins with a cookie. The server then says, a byte each, what
 * state the test is in; parameters and results go over it as JSON with its length before. Streams
 * are connections that begin with the same cookie, or datagrams. As iperf 3.1 to 3.19 do it
 * (iperf_api.c, iperf_client_api.c, iperf_server_api.c, iperf_udp.c of esnet/iperf). */
#include "net/iperf3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/json.h"

enum state {
	TEST_START = 1,
	TEST_RUNNING = 2,
	TEST_END = 4,
	PARAM_EXCHANGE = 9,
	CREATE_STREAMS = 10,
	EXCHANGE_RESULTS = 13,
	DISPLAY_RESULTS = 14,
	IPERF_DONE = 16,
	ACCESS_DENIED = 255,
};

enum { COOKIE = 37, JSON_MAX = 65536 };

/* A server that has just ended a test may refuse, deny or drop the next for a moment. */
enum { AGAIN_MS = 2000 };

static int send_all(int fd, const void *data, size_t size)
{
	return send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -ECONNRESET;
}

static int receive_all(int fd, void *data, size_t size)
{
	uint64_t until = clock_ns() + SILENCE_MS * 1000000ull;

	for (size_t have = 0; have < size;) {
		ssize_t n = recv(fd, (char *)data + have, size - have, 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n < 0 && clock_ns() > until)
			return -ETIMEDOUT;
		have += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* -EBUSY: it is occupied; -EREMOTEIO: it says another state, or an error. */
static int expect_state(int fd, enum state wanted)
{
	unsigned char state;
	int error = receive_all(fd, &state, 1);

	if (error || state == wanted)
		return error;
	return state == ACCESS_DENIED ? -EBUSY : -EREMOTEIO;
}

static int say_state(int fd, enum state state)
{
	char byte = (char)state;

	return send_all(fd, &byte, 1);
}

static int send_json(int fd, const char *text)
{
	uint32_t length = htonl((uint32_t)strlen(text));
	int error = send_all(fd, &length, sizeof(length));

	return error ? error : send_all(fd, text, strlen(text));
}

/* The caller frees *text. */
static int receive_json(int fd, char **text)
{
	uint32_t length;
	int error = receive_all(fd, &length, sizeof(length));

	*text = NULL;
	if (error)
		return error;
	length = ntohl(length);
	if (length > JSON_MAX)
		return -EPROTO;
	*text = calloc(1, length + 1);
	return *text ? receive_all(fd, *text, length) : -ENOMEM;
}

/* --- opening --------------------------------------------------------------------------------- */

static void make_cookie(char cookie[COOKIE])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t state = clock_ns() ^ ((uint64_t)getpid() << 32);

	for (int i = 0; i < COOKIE - 1; i++)
		cookie[i] = letters[random_next(&state) % 32];
	cookie[COOKIE - 1] = '\0';
}

static int send_parameters(const struct client *c)
{
	const struct net_test *t = &c->test;
	char text[320];
	int n = snprintf(text, sizeof(text),
			 "{\"%s\":true,\"omit\":0,\"time\":0,\"num\":0,\"blockcount\":0,"
			 "\"parallel\":%d,\"len\":%zu,\"pacing_timer\":1000,"
			 "\"client_version\":\"3.12\"%s%s",
			 t->kind == NET_UDP ? "udp" : "tcp", t->send + t->receive, t->size,
			 t->receive ? ",\"reverse\":true" : "",
			 t->nodelay ? ",\"nodelay\":true" : "");

	if (t->buffer)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ",\"window\":%d", t->buffer);
	if (t->rate)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ",\"bandwidth\":%llu",
			      (unsigned long long)t->rate * 8);
	snprintf(text + n, sizeof(text) - (size_t)n, "}");
	return send_json(c->control.fd, text);
}

static int connect_stream(struct client *c, const struct address *to, const char *cookie)
{
	bool datagrams = c->test.kind == NET_UDP;
	int fd = address_connect(to, datagrams ? SOCK_DGRAM : SOCK_STREAM, c->test.buffer);
	int nodelay = c->test.nodelay, error;
	uint32_t word = 0x36373839; /* either side's order will do */

	if (fd < 0)
		return fd;
	flow_add(&c->flow, fd, c->test.send > 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof(nodelay));
	error = datagrams ? send_all(fd, &word, sizeof(word)) : send_all(fd, cookie, COOKIE);
	return error || !datagrams ? error : receive_all(fd, &word, sizeof(word));
}

/* From the connection on to a running test. */
static int begin_test(struct client *c, const struct address *to)
{
	char cookie[COOKIE];
	int fd = c->control.fd;

	c->flow.lifeline = fd;
	make_cookie(cookie);
	int error = send_all(fd, cookie, COOKIE);
	if (error == 0)
		error = expect_state(fd, PARAM_EXCHANGE);
	if (error == 0)
		error = send_parameters(c);
	if (error == 0)
		error = expect_state(fd, CREATE_STREAMS);
	for (int i = 0; i < c->test.send + c->test.receive && error == 0; i++)
		error = connect_stream(c, to, cookie);
	if (error == 0)
		error = expect_state(fd, TEST_START);
	if (error == 0)
		error = expect_state(fd, TEST_RUNNING);
	return error ? error : flow_prepare(&c->flow);
}

static void drop(struct client *c)
{
	flow_close(&c->flow);
	if (c->control.fd >= 0)
		close(c->control.fd);
	c->control.fd = -1;
}

static int not_begun(const struct client *c, int error)
{
	if (error == -EBUSY)
		return json_error(1, EBUSY, "%s: the iperf3 server at %s port %s is busy with "
					    "another test: wait for its end",
				  c->who, c->remote.host, c->remote.port);
	if (error == -ETIMEDOUT)
		return endpoint_lost(c->who, &c->remote, error);
	return json_error(1, -error, "%s: what answers at %s port %s does not begin a test as an "
				     "iperf3 server does: see what it prints (a sink of Benchvise "
				     "needs protocol=own)",
			  c->who, c->remote.host, c->remote.port);
}

static int reopen(struct client *c)
{
	uint64_t until = clock_ns() + AGAIN_MS * 1000000ull;
	int error;

	for (;;) {
		int fd = address_connect(&c->address, SOCK_STREAM, 0);
		c->control.fd = fd;
		error = fd < 0 ? fd : begin_test(c, &c->address);
		if (error == 0)
			return 0;
		drop(c);
		if (clock_ns() > until)
			return not_begun(c, error);
		usleep(20000);
	}
}

int iperf3_open(struct client *c)
{
	int status;

	c->flow.block = c->test.size;
	c->flow.datagrams = c->test.kind == NET_UDP;
	c->flow.rate = c->test.rate;
	c->sessions = 1;
	c->control.fd = -1;
	status = endpoint_connect(&c->remote, c->who, AGAIN_MS, &c->control.fd);
	if (status)
		return status;
	int error = address_remote(c->control.fd, &c->address);
	if (error == 0)
		error = begin_test(c, &c->address);
	if (error != -EBUSY && error != -ECONNRESET)
		return error ? not_begun(c, error) : 0;
	drop(c);
	return reopen(c);
}

/* --- ending ---------------------------------------------------------------------------------- */

/* What the server insists on: of each stream its number, which it counts 1, 3, 4, 5… */
static int send_results(const struct client *c)
{
	char text[256 + 2 * STREAMS_MAX * 128];
	int n = snprintf(text, sizeof(text),
			 "{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,"
			 "\"sender_has_retransmits\":-1,\"streams\":[");

	for (int i = 0; i < c->flow.count; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s{\"id\":%d,\"bytes\":%llu,\"retransmits\":-1,\"jitter\":0,"
			      "\"errors\":0,\"packets\":%llu}",
			      i ? "," : "", i ? i + 2 : 1,
			      (unsigned long long)c->flow.streams[i].bytes,
			      (unsigned long long)c->flow.streams[i].messages);
	snprintf(text + n, sizeof(text) - (size_t)n, "]}");
	return send_json(c->control.fd, text);
}

/* The number of that name, from *at on, which moves behind it; -1 when there is none more. */
static double number_of(const char **at, const char *name)
{
	const char *match = strstr(*at, name);
	char *end;

	if (!match)
		return -1;
	double number = strtod(match + strlen(name), &end);
	*at = end;
	return number;
}

static int take_results(struct client *c, const char *text)
{
	struct window *w = &c->result.there;
	const char *at = text;
	double bytes = number_of(&at, "\"bytes\":");
	double lost = number_of(&at, "\"errors\":");
	double sent = number_of(&at, "\"packets\":");
	double seconds = number_of(&at, "\"end_time\":");
	double cpu;

	if (!(bytes >= 0 && bytes < 1e18 && lost >= 0 && sent >= lost && sent < 1e18 &&
	      seconds > 0 && seconds < 1e6))
		return -EPROTO;
	*w = (struct window){.bytes = (uint64_t)bytes,
			     .ns = (uint64_t)(seconds * 1e9),
			     .messages = (uint64_t)(sent - lost),
			     .lost = (uint64_t)lost};
	at = text;
	cpu = number_of(&at, "\"cpu_util_total\":");
	c->result.remote_moved = w->bytes;
	c->result.has_remote_cpu = cpu >= 0 && cpu < 1e6;
	if (c->result.has_remote_cpu)
		c->result.remote_cpu_ns = (uint64_t)(cpu / 100 * seconds * 1e9);
	return w->bytes > 0 ? 0 : -ENODATA;
}

/* Ends the test as a client has to; *text holds the server's results, to be freed. */
static int end_test(struct client *c, char **text)
{
	int fd = c->control.fd;
	int error = say_state(fd, TEST_END);

	*text = NULL;
	if (error == 0)
		error = expect_state(fd, EXCHANGE_RESULTS);
	if (error == 0)
		error = send_results(c);
	if (error == 0)
		error = receive_json(fd, text);
	if (error == 0)
		error = expect_state(fd, DISPLAY_RESULTS);
	return error ? error : say_state(fd, IPERF_DONE);
}

void iperf3_close(struct client *c)
{
	char *text = NULL;

	if (c->control.fd >= 0 && c->flow.count > 0 && !c->flow.error)
		end_test(c, &text);
	free(text);
	drop(c);
}

/* --- a batch --------------------------------------------------------------------------------- */

static int conduct(void *context)
{
	struct client *c = context;
	struct flow *f = &c->flow;
	struct batch_result *r = &c->result;
	uint64_t before, after;
	int error;

	flow_tcp_facts(f, &before, &r->rtt_ns);
	if (c->test.receive > 0)
		error = flow_window(f, c->ramp_ms, c->window_ms, &r->here);
	else if (f->datagrams)
		error = flow_pass(f, c->window_ms);
	else
		error = flow_acknowledged(f, c->ramp_ms, c->window_ms, &r->there);
	r->has_tcp_facts = flow_tcp_facts(f, &after, &r->rtt_ns);
	r->retransmits = after - before;
	if (error == 0)
		error = flow_stop(f);
	return error ? error : flow_drain(f, NULL);
}

int iperf3_batch(struct client *c, unsigned ramp_ms, unsigned window_ms)
{
	bool a_session_each = c->flow.datagrams && c->test.send > 0;
	char *text = NULL;

	if (c->control.fd < 0 && reopen(c))
		return 1;
	uint64_t moved = flow_bytes(&c->flow, true) + flow_bytes(&c->flow, false);
	c->ramp_ms = ramp_ms;
	c->window_ms = window_ms;
	c->result = (struct batch_result){.has_misordered = c->test.receive > 0};
	int error = flow_run(&c->flow, conduct, c);
	c->result.moved = flow_bytes(&c->flow, true) + flow_bytes(&c->flow, false) - moved;
	if (error == 0 && a_session_each) {
		error = end_test(c, &text);
		if (error == 0)
			error = take_results(c, text);
		free(text);
		drop(c);
	}
	return error ? endpoint_lost(c->who, &c->remote, error) : 0;
}
