/* net.tcp and net.udp: payload in one direction or both. */
#include <errno.h>
#include <stdlib.h>

#include "bench/benchmarks.h"
#include "bench/net.h"
#include "net/cost.h"
#include "net/iperf3.h"

enum { RAMP_MS = 100, RAMP_MOST_MS = 1000, WARM_MS = 300 };

static int batch_by(struct net *n, unsigned ramp_ms, unsigned window_ms)
{
	return n->iperf3 ? iperf3_batch(&n->client, ramp_ms, window_ms)
			 : client_batch(&n->client, ramp_ms, window_ms);
}

/* A pause makes senders begin slowly again, which takes some round trips. */
static unsigned ramp_for(const struct net *n)
{
	unsigned ms = (unsigned)(tcp_rtt_ns(n->client.control.fd) * 10 / 1000000);

	return ms < RAMP_MS ? RAMP_MS : ms > RAMP_MOST_MS ? RAMP_MOST_MS : ms;
}

/* The first stream runs on the CPU measured on, the others on those below it, round and round: all
 * on the interrupts' CPU, or none, where `affinity` asks for that. */
static void spread_streams(const struct run *run, struct net *n)
{
	struct flow *f = &n->client.flow;
	bool same = arg_is(&run->args, "affinity", "same");
	bool other = arg_is(&run->args, "affinity", "other");
	int cpu = run->place.cpu;

	for (int i = 1; i < f->count && !same; i++) {
		do {
			cpu = cpu > 0 ? cpu - 1 : IRQ_CPUS - 1;
		} while (!place_allowed(cpu) || (other && cpu == n->interrupt_cpu));
		f->streams[i].cpu = cpu;
	}
}

static int open_session(struct run *run, struct net *n)
{
	int status = n->iperf3 ? iperf3_open(&n->client)
			       : client_open(&n->client, arg_text(&run->args, "key"));

	if (status)
		return status;
	n->ramp_ms = ramp_for(n);
	net_look_at_interface(run, n, n->client.control.fd);
	status = batch_by(n, n->ramp_ms, WARM_MS);
	if (status == 0)
		status = net_place(run, n);
	spread_streams(run, n);
	run->most_iterations = 1; /* an iteration is a window of batch_ms */
	return status;
}

static struct net *new_net(struct run *run)
{
	struct net *n = calloc(1, sizeof(*n));

	run->state = n;
	if (!n) {
		json_error(1, ENOMEM, "%s: no memory", run->benchmark->id);
		return NULL;
	}
	n->client.control.fd = -1;
	n->iperf3 = arg_is(&run->args, "protocol", "iperf3");
	n->client.test = (struct net_test){
		.send = !arg_is(&run->args, "direction", "receive"),
		.receive = !arg_is(&run->args, "direction", "send"),
		.cpu = arg_number(&run->args, "peer_cpu") == AUTO
			       ? -1
			       : (int)arg_number(&run->args, "peer_cpu"),
		.buffer = arg_number(&run->args, "buffer") == AUTO
				  ? 0
				  : (int)arg_number(&run->args, "buffer"),
	};
	return n;
}

/* What an iperf3 server cannot do for us. */
static int check_protocol(const struct run *run, const struct net *n)
{
	const char *id = run->benchmark->id;

	if (!n->iperf3)
		return 0;
	if (n->client.test.send && n->client.test.receive)
		return json_error(2, EINVAL, "%s: direction=both needs protocol=own: measure send "
					     "and receive in turn with an iperf3 server", id);
	if (n->client.test.cpu >= 0)
		return json_error(2, EINVAL, "%s: peer_cpu needs protocol=own: start `iperf3 -s -A "
					     "CPU` instead", id);
	return 0;
}

static int batch(struct run *run, uint64_t iterations)
{
	struct net *n = run->state;
	unsigned window_ms = (unsigned)(arg_number(&run->args, "batch_ms") * iterations);
	static uint64_t counts[IRQ_CPUS];
	uint64_t own, begin_own;
	int64_t system, begin_system;

	interface_mark(&n->interface);
	begin_system = cost_system_ns();
	begin_own = cost_own_ns();
	int status = batch_by(n, n->ramp_ms, window_ms);
	own = cost_own_ns();
	system = cost_system_ns();
	n->own_ns = own - begin_own;
	n->system_ns = begin_system >= 0 && system >= begin_system ? system - begin_system : -1;
	n->irqs = interface_look(&n->interface, counts);
	n->irqs_here = run->place.cpu >= 0 ? counts[run->place.cpu] : 0;
	run->elapsed_ns = n->client.result.here.ns > n->client.result.there.ns
				  ? n->client.result.here.ns
				  : n->client.result.there.ns;
	return status;
}

static double rate(const struct window *w)
{
	return w->ns > 0 ? (double)w->bytes / (double)w->ns * 1e9 : 0;
}

static double value(const struct run *run)
{
	const struct net *n = run->state;

	return rate(&n->client.result.there) + rate(&n->client.result.here);
}

static void describe(const struct run *run, struct json *j)
{
	const struct net *n = run->state;
	int fd = n->client.flow.count > 0 ? n->client.flow.streams[0].fd : n->client.control.fd;

	net_describe(n, fd, j);
}

/* Nanoseconds a byte are seconds a gigabyte. */
static void detail_costs(const struct net *n, struct json *j)
{
	const struct batch_result *r = &n->client.result;
	double moved = (double)r->moved;

	json_unsigned(j, "moved_bytes", r->moved);
	json_number(j, "cpu_s_per_gb", (double)n->own_ns / moved);
	if (n->system_ns >= 0)
		json_number(j, "system_cpu_s_per_gb", (double)n->system_ns / moved);
	else
		json_na(j, "system_cpu_s_per_gb", "no /proc/stat");
	if (r->has_remote_cpu)
		json_number(j, "peer_cpu_s_per_gb", (double)r->remote_cpu_ns / (double)r->remote_moved);
	else
		json_na(j, "peer_cpu_s_per_gb", "an iperf3 server tells it at the end of a session");
	if (n->irqs > 0)
		json_number(j, "interrupts_here", 100.0 * (double)n->irqs_here / (double)n->irqs);
	else
		json_na(j, "interrupts_here",
			n->interface.irq_count ? "the interface interrupted no CPU in this batch"
					       : "the interface has no interrupt of its own");
}

static void teardown(struct run *run)
{
	struct net *n = run->state;

	if (n && n->iperf3)
		iperf3_close(&n->client);
	else if (n)
		client_close(&n->client);
	free(n);
}

#define COST_FIGURES                                                                         \
	{"cpu_s_per_gb", "s/GB", "lower", "median",                                          \
	 "CPU time of this process, all threads, user and system, per 1e9 bytes of payload"}, \
	{"system_cpu_s_per_gb", "s/GB", "lower", "median",                                   \
	 "the same of the whole board, interrupts and softirqs and whatever else ran "       \
	 "included"},                                                                        \
	{"peer_cpu_s_per_gb", "s/GB", "lower", "median",                                     \
	 "CPU time of the sink's process per 1e9 bytes"},                                    \
	{"interrupts_here", "%", "", "median",                                               \
	 "of the interface's interrupts, those taken by the CPU that our first stream runs on"}

#define PROTOCOL_PARAM                                                                       \
	{"protocol", PARAM_CHOICE, "own", 0, 0, "own iperf3",                                \
	 "what the remote host speaks: own (`bvprobe sink`) or iperf3 (a stock `iperf3 -s`)"}

#define BUFFER_PARAM                                                                         \
	{"buffer", PARAM_SIZE, "auto", 4096, 1 << 28, NULL,                                  \
	 "SO_SNDBUF and SO_RCVBUF at both ends; auto: as the systems have it (of TCP, by "   \
	 "themselves). begin.network tells what was granted here"}

static const struct initial initials[] = {
	{"batches", "7"},
	{"batch_ms", "300"},
	{0},
};

/* --- net.tcp --------------------------------------------------------------------------------- */

static int setup_tcp(struct run *run)
{
	struct net *n = new_net(run);
	int status, streams;

	if (!n)
		return 1;
	status = net_find_remote(run, n, n->iperf3 ? IPERF3_PORT : NET_PORT);
	if (status == 0)
		status = check_protocol(run, n);
	if (status)
		return status;
	streams = (int)arg_number(&run->args, "streams");
	n->client.test.kind = NET_TCP;
	n->client.test.send *= streams;
	n->client.test.receive *= streams;
	n->client.test.size = (size_t)arg_number(&run->args, "block");
	n->client.test.nodelay = arg_is(&run->args, "nodelay", "on");
	if (n->iperf3 && n->client.test.send)
		run->counted = "payload acknowledged by the remote host's kernel: an iperf3 server does "
			       "not tell what it received in a batch";
	return open_session(run, n);
}

static void detail_tcp(const struct run *run, struct json *j)
{
	const struct net *n = run->state;
	const struct batch_result *r = &n->client.result;

	if (n->client.test.send && n->client.test.receive) {
		json_number(j, "sent_rate", rate(&r->there));
		json_number(j, "received_rate", rate(&r->here));
	}
	detail_costs(n, j);
	if (r->has_tcp_facts) {
		json_unsigned(j, "retransmits", r->retransmits);
		json_unsigned(j, "rtt_ns", r->rtt_ns);
	} else {
		json_na(j, "retransmits", "the sender is an iperf3 server, which does not tell");
		json_na(j, "rtt_ns", "the sender is an iperf3 server, which does not tell");
	}
}

static const struct param tcp_params[] = {
	NET_REMOTE_PARAMS,
	PROTOCOL_PARAM,
	{"direction", PARAM_CHOICE, "send", 0, 0, "send receive both",
	 "which way the payload goes, as the board sees it; both: at the same time, added up"},
	{"streams", PARAM_INTEGER, "1", 1, STREAMS_MAX, NULL,
	 "connections in each direction, with a thread each at both ends"},
	{"block", PARAM_SIZE, "128K", 1, BLOCK_MAX, NULL, "most bytes of one send and one receive"},
	BUFFER_PARAM,
	{"nodelay", PARAM_CHOICE, "off", 0, 0, "off on", "TCP_NODELAY: send small blocks at once"},
	NET_PLACE_PARAMS,
	{0},
};

static const struct figure tcp_figures[] = {
	COST_FIGURES,
	{"retransmits", "1", "lower", "sum", "segments that were sent again, by whoever sends"},
	{"rtt_ns", "ns", "lower", "median",
	 "the sender's smoothed round-trip time at the end of a batch: under load, with the queues "
	 "that it fills"},
	{"sent_rate", "B/s", "higher", "median", "direction=both: what the remote host received"},
	{"received_rate", "B/s", "higher", "median", "direction=both: what the board received"},
	{0},
};

const struct benchmark net_tcp = {
	.id = "net.tcp",
	.summary = "how many bytes a second go through TCP between the board and a remote host",
	.unit = "B/s",
	.better = "higher",
	.counted = "payload as it reached the end that receives, by its clock; no headers",
	.method = "connections stand and are warm before the first batch; each batch sends for "
		  "100 ms or ten round trips, until pause and slow start are over, then the "
		  "receiver counts for batch_ms, so that what lies in buffers is not counted; "
		  "then the way is emptied. CPU times, counters and retransmits are those of the "
		  "whole batch (moved_bytes)",
	.pitfalls = "a slow remote host: compare peer_cpu_s_per_gb times the rate with 1 s/s, and "
		    "cpu_s_per_gb likewise, to see which end is at its limit; one stream keeps "
		    "one core busy; CPU, interrupt and stream on the same or other CPUs make a "
		    "difference of a factor (affinity); random payload, but always the same block, "
		    "so it comes from the cache; loopback is no network",
	.not_measured = "connection setup, slow start, disk, TLS; what other traffic would leave; "
			"the wire's own rate (headers take 5 % of it at an MTU of 1500)",
	.reference = "iperf3 with as many streams and -l as block, the same socket buffers: within 10 % "
		"for one stream (iperf3 before 3.16 has one thread for all streams)",
	.params = tcp_params,
	.initials = initials,
	.figures = tcp_figures,
	.loads_others = true,
	.setup = setup_tcp,
	.batch = batch,
	.value = value,
	.describe = describe,
	.detail = detail_tcp,
	.teardown = teardown,
};

/* --- net.udp --------------------------------------------------------------------------------- */

static int setup_udp(struct run *run)
{
	struct net *n = new_net(run);
	uint64_t mbit = arg_number(&run->args, "rate_mbit");
	uint64_t message = arg_number(&run->args, "message");
	int status;

	if (!n)
		return 1;
	status = net_find_remote(run, n, n->iperf3 ? IPERF3_PORT : NET_PORT);
	if (status == 0)
		status = check_protocol(run, n);
	if (status)
		return status;
	n->client.test.kind = NET_UDP;
	n->client.test.size = (size_t)message;
	if (message == AUTO)
		n->client.test.size = endpoint_payload(&n->client.remote);
	n->client.test.rate = mbit == AUTO ? 0 : mbit * 125000;
	return open_session(run, n);
}

static void describe_udp(const struct run *run, struct json *j)
{
	const struct net *n = run->state;

	describe(run, j);
	json_unsigned(j, "message_bytes", n->client.test.size);
}

static void detail_udp(const struct run *run, struct json *j)
{
	const struct net *n = run->state;
	const struct batch_result *r = &n->client.result;
	const struct window *w = n->client.test.send ? &r->there : &r->here;
	double all = (double)w->messages + (double)w->lost;

	json_number(j, "loss", 100.0 * (double)w->lost / all);
	json_number(j, "sent_rate", rate(w) / (double)w->messages * all);
	if (r->has_misordered)
		json_unsigned(j, "misordered", w->misordered);
	else
		json_na(j, "misordered", "an iperf3 server does not tell");
	detail_costs(n, j);
}

static const struct param udp_params[] = {
	NET_REMOTE_PARAMS,
	PROTOCOL_PARAM,
	{"direction", PARAM_CHOICE, "send", 0, 0, "send receive",
	 "which way the payload goes, as the board sees it"},
	{"rate_mbit", PARAM_INTEGER, "auto", 1, 1000000, NULL,
	 "payload to be sent, in 1e6 bits a second; auto: as fast as the sender can"},
	{"message", PARAM_SIZE, "auto", DATAGRAM_HEADER, DATAGRAM_MAX, NULL,
	 "payload of a datagram; auto: as much as the MTU takes (begin.message_bytes)"},
	BUFFER_PARAM,
	NET_PLACE_PARAMS,
	{0},
};

static const struct figure udp_figures[] = {
	{"loss", "%", "lower", "median", "of the datagrams sent, those that did not arrive"},
	{"sent_rate", "B/s", "", "median", "payload sent in the time of the value"},
	{"misordered", "1", "lower", "sum", "datagrams that arrived after a later one"},
	COST_FIGURES,
	{0},
};

const struct benchmark net_udp = {
	.id = "net.udp",
	.summary = "how many bytes a second arrive as UDP datagrams, and how many are lost",
	.unit = "B/s",
	.better = "higher",
	.counted = "payload as received; no headers",
	.method = "numbered datagrams, a system call each, at rate_mbit or as fast as the sender "
		  "can; each batch runs for 100 ms or ten round trips, then the receiver counts "
		  "for batch_ms what arrives and what is missing. With an iperf3 server that "
		  "receives, each batch is a test of its own, and its values are the server's",
	.pitfalls = "as fast as the sender can, a quick sender drowns a slow receiver: the value "
		    "is then what the receiver saves from drowning; give rate_mbit to ask for "
		    "loss at a rate; most loss happens in the receiver's socket buffer (buffer) "
		    "and not on the wire",
	.not_measured = "jitter; what batching calls (sendmmsg, GSO) would reach; where datagrams "
			"were lost (see `nstat` UdpRcvbufErrors and the interface's counters)",
	.reference = "iperf3 -u with the same -b and -l: within 10 %",
	.params = udp_params,
	.initials = initials,
	.figures = udp_figures,
	.loads_others = true,
	.setup = setup_udp,
	.batch = batch,
	.value = value,
	.describe = describe_udp,
	.detail = detail_udp,
	.teardown = teardown,
};
