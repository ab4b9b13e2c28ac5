/* net.latency: a message to the remote host and its echo. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/net.h"
#include "core/clock.h"

enum { MESSAGE_MOST = 65507, TIMES = 32768, WARM_TRIPS = 200, LOST_MS = 1000, LOST_MOST = 10 };

struct latency {
	struct net net;
	int fd;
	size_t message;
	bool datagrams;
	uint32_t number;      /* of the message last sent: its first bytes, as far as it has room */
	uint64_t lost;        /* in the last batch */
	uint64_t answered;
	uint64_t sum_ns;      /* of those answered */
	uint32_t times[TIMES]; /* one each, in nanoseconds, 4.29 s at most */
	char *out, *in;
};

static void number_message(struct latency *l)
{
	l->number++;
	memcpy(l->out, &l->number,
	       l->message < sizeof(l->number) ? l->message : sizeof(l->number));
}

/* One answer: 1, 0 when none came within LOST_MS (datagrams only), or a negative errno. */
static int await(struct latency *l, uint64_t sent)
{
	uint64_t limit = sent + (l->datagrams ? LOST_MS : SILENCE_MS) * 1000000ull;
	size_t have = 0;

	for (;;) {
		ssize_t n = recv(l->fd, l->in + have, l->message - have, 0);
		if (n == 0 && !l->datagrams)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0 && l->datagrams) { /* a late answer to another is none to this */
			if ((size_t)n == l->message && memcmp(l->in, l->out, l->message) == 0)
				return 1;
		} else if (n > 0) {
			have += (size_t)n;
			if (have == l->message)
				return 1;
		}
		if (n <= 0 && clock_ns() > limit)
			return l->datagrams ? 0 : -ETIMEDOUT;
	}
}

static int trip(struct latency *l, uint64_t *ns)
{
	uint64_t begin;
	int answer;

	number_message(l);
	begin = clock_ns();
	if (send(l->fd, l->out, l->message, MSG_NOSIGNAL) != (ssize_t)l->message)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	answer = await(l, begin);
	*ns = clock_ns() - begin;
	return answer;
}

static int trips(struct run *run, uint64_t count)
{
	struct latency *l = run->state;
	int in_a_row = 0, answer;
	uint64_t ns = 0;

	l->lost = l->answered = l->sum_ns = 0;
	for (uint64_t i = 0; i < count; i++) {
		answer = trip(l, &ns);
		if (answer == 0 && ++in_a_row == LOST_MOST)
			answer = -ETIMEDOUT;
		if (answer < 0)
			return endpoint_lost(run->benchmark->id, &l->net.client.remote, answer);
		if (answer == 0) {
			l->lost++;
			continue;
		}
		in_a_row = 0;
		l->times[l->answered++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
		l->sum_ns += ns;
	}
	return 0;
}

static int open_session(struct run *run, struct latency *l)
{
	struct client *c = &l->net.client;
	uint64_t cpu = arg_number(&run->args, "peer_cpu");
	int status;

	c->test = (struct net_test){
		.kind = l->datagrams ? NET_ECHO_UDP : NET_ECHO_TCP,
		.send = 1,
		.size = l->message,
		.nodelay = true,
		.cpu = cpu == AUTO ? -1 : (int)cpu,
	};
	status = client_open(c, arg_text(&run->args, "key"));
	if (status)
		return status;
	l->fd = c->flow.streams[0].fd;
	net_look_at_interface(run, &l->net, l->fd);
	status = trips(run, WARM_TRIPS);
	return status ? status : net_place(run, &l->net);
}

static int setup(struct run *run)
{
	struct latency *l = calloc(1, sizeof(*l));
	int status;

	run->state = l;
	if (!l)
		return json_error(1, ENOMEM, "net.latency: no memory");
	l->net.client.control.fd = -1;
	l->message = (size_t)arg_number(&run->args, "message");
	l->datagrams = arg_is(&run->args, "kind", "udp");
	l->out = calloc(2, l->message);
	if (!l->out)
		return json_error(1, ENOMEM, "net.latency: no memory for a message");
	l->in = l->out + l->message;
	memset(l->times, 1, sizeof(l->times)); /* no page faults in a batch */
	run->most_iterations = TIMES;
	status = net_find_remote(run, &l->net, NET_PORT);
	return status ? status : open_session(run, l);
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int batch(struct run *run, uint64_t iterations)
{
	struct latency *l = run->state;
	uint64_t begin = clock_ns();
	int status = trips(run, iterations);

	run->elapsed_ns = clock_ns() - begin;
	qsort(l->times, l->answered, sizeof(l->times[0]), by_size);
	if (status == 0 && l->answered == 0)
		status = endpoint_lost(run->benchmark->id, &l->net.client.remote, -ENODATA);
	return status;
}

static double value(const struct run *run)
{
	const struct latency *l = run->state;

	return (double)l->sum_ns / (double)l->answered;
}

static void describe(const struct run *run, struct json *j)
{
	const struct latency *l = run->state;

	net_describe(&l->net, l->fd, j);
}

static void detail(const struct run *run, struct json *j)
{
	const struct latency *l = run->state;

	json_unsigned(j, "p50_ns", l->times[l->answered / 2]);
	json_unsigned(j, "p99_ns", l->times[l->answered * 99 / 100]);
	json_unsigned(j, "max_ns", l->times[l->answered - 1]);
	json_unsigned(j, "lost", l->lost);
}

static void teardown(struct run *run)
{
	struct latency *l = run->state;

	if (!l)
		return;
	client_close(&l->net.client);
	free(l->out);
	free(l);
}

static const struct param params[] = {
	NET_REMOTE_PARAMS,
	{"kind", PARAM_CHOICE, "tcp", 0, 0, "tcp udp", "what carries the message"},
	{"message", PARAM_SIZE, "64", 1, MESSAGE_MOST, NULL, "bytes sent each way"},
	NET_PLACE_PARAMS,
	{0},
};

static const struct initial initials[] = {
	{"batches", "15"},
	{"batch_ms", "50"},
	{0},
};

static const struct figure figures[] = {
	{"p50_ns", "ns", "lower", "median", "the round trip that half of them stay below"},
	{"p99_ns", "ns", "lower", "median", "the round trip that 99 % of them stay below"},
	{"max_ns", "ns", "lower", "max", "the longest round trip"},
	{"lost", "1", "lower", "sum", "datagrams without an answer within a second"},
	{0},
};

const struct benchmark net_latency = {
	.id = "net.latency",
	.summary = "how long a message takes to the remote host and back",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: sent, received, sent back, received; the mean of a batch",
	.method = "one message under way at a time, blocking calls at both ends, TCP_NODELAY; the "
		  "remote host answers with the same bytes. A lost datagram counts as lost and not as time",
	.pitfalls = "the interface's interrupt coalescing (`ethtool -c`) is often the largest "
		    "part; idle states of both machines' CPUs come next, as each end sleeps while "
		    "it waits; the remote host is half of the value",
	.not_measured = "latency under load (rtt_ns of net.tcp is that); connection setup; answers "
			"that take work; spinning receivers (SO_BUSY_POLL)",
	.reference = "sockperf ping-pong (it prints half a round trip), qperf tcp_lat and udp_lat: "
		"within 10 %",
	.params = params,
	.initials = initials,
	.figures = figures,
	.loads_others = true,
	.switches = true,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.detail = detail,
	.teardown = teardown,
};
