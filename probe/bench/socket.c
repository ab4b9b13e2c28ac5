/* socket.latency and socket.throughput, within this system. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/clock.h"
#include "core/partner.h"

enum { OURS, PARTNERS, ENDS };

/* More than any of these takes, and a batch too: what is not there by then is lost. */
enum { CONNECT_SECONDS = 5, BATCH_SECONDS = 60 };

struct sockets {
	struct partner partner;
	int fd[ENDS];
	size_t size; /* of a message, or of a block */
	bool unpinned;
	char *data;
};

/* --- a pair of sockets ----------------------------------------------------------------------- */

/* A socket at a port of its own on the loopback address, which is written to *address. */
static int bound_socket(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)address, length) < 0 ||
			getsockname(fd, (struct sockaddr *)address, &length) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool join(int fd, const struct sockaddr_in *address)
{
	return connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

static bool make_udp(int fd[ENDS])
{
	struct sockaddr_in address[ENDS];

	for (int end = 0; end < ENDS; end++)
		if ((fd[end] = bound_socket(SOCK_DGRAM, &address[end])) < 0)
			return false;
	return join(fd[OURS], &address[PARTNERS]) && join(fd[PARTNERS], &address[OURS]);
}

static bool make_tcp(int fd[ENDS])
{
	struct sockaddr_in address;
	int listener = bound_socket(SOCK_STREAM, &address);
	int one = 1;

	if (listener < 0)
		return false;
	fd[OURS] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd[OURS] >= 0 && listen(listener, 1) == 0 && join(fd[OURS], &address))
		fd[PARTNERS] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	if (fd[PARTNERS] < 0)
		return false;
	for (int end = 0; end < ENDS; end++) /* a message goes out at once */
		setsockopt(fd[end], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return true;
}

/* What would never come is awaited no longer: a datagram was dropped, a packet filter is in the
 * way, or the partner is gone. */
static volatile int waiting_fd = -1;

static void on_lost(int signal)
{
	int error = errno;

	(void)signal;
	shutdown(waiting_fd, SHUT_RDWR);
	errno = error;
}

static void watch(void)
{
	struct sigaction action = {.sa_handler = on_lost, .sa_flags = SA_NOCLDSTOP};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGALRM);
	sigaction(SIGCHLD, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int make_sockets(const struct run *run, struct sockets *s)
{
	const char *kind = arg_text(&run->args, "kind");
	bool made;

	alarm(CONNECT_SECONDS); /* interrupts connect and accept */
	made = strcmp(kind, "unix") == 0
		       ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->fd) == 0
	     : strcmp(kind, "tcp") == 0 ? make_tcp(s->fd) : make_udp(s->fd);
	int error = errno;
	alarm(0);
	if (made)
		return 0;
	return json_error(77, error, "%s: kind=%s is not possible here: %s", run->benchmark->id,
			  kind, error == EMFILE || error == ENFILE
				? "raise the limit on open files (ulimit -n)"
			  : strcmp(kind, "unix") == 0
				? "the kernel has no UNIX sockets"
				: "the loopback interface must be up (ip link set lo up), and no "
				  "packet filter in its way");
}

/* `run` has a struct sockets that is zero but for its descriptors. */
static int start(struct run *run, size_t size, void (*serve)(struct partner *p, void *context))
{
	struct sockets *s = run->state;
	int status;

	s->size = size;
	s->unpinned = run->place.cpu < 0;
	s->data = malloc(size);
	if (!s->data)
		return json_error(1, ENOMEM, "%s: no memory for a message", run->benchmark->id);
	memset(s->data, 1, size);
	watch();
	status = make_sockets(run, s);
	if (status)
		return status;
	waiting_fd = s->fd[OURS];
	status = partner_start(&s->partner, run, serve, s);
	close(s->fd[PARTNERS]); /* its end is the partner's alone, so that we see it end */
	s->fd[PARTNERS] = -1;
	return status;
}

static struct sockets *new_sockets(struct run *run)
{
	struct sockets *s = calloc(1, sizeof(*s));

	run->state = s;
	if (s)
		s->fd[OURS] = s->fd[PARTNERS] = -1;
	return s;
}

static void teardown(struct run *run)
{
	struct sockets *s = run->state;

	if (!s)
		return;
	alarm(0);
	signal(SIGCHLD, SIG_DFL);
	waiting_fd = -1;
	partner_stop(&s->partner);
	for (int end = 0; end < ENDS; end++)
		if (s->fd[end] >= 0)
			close(s->fd[end]);
	free(s->data);
	free(s);
}

static int lost(const struct run *run)
{
	return json_error(1, EPIPE, "%s: no answer: the other process was killed, its CPU was taken "
				    "away, or the kernel dropped what was sent",
			  run->benchmark->id);
}

static void detail(const struct run *run, struct json *j)
{
	struct sockets *s = run->state;

	partner_describe(&s->partner, j);
}

/* A signal interrupts a wait that goes on; after on_lost() it ends at once. */
static bool receive_all(int fd, char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(fd, data, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

/* --- socket.latency -------------------------------------------------------------------------- */

static void answer(struct partner *p, void *context)
{
	struct sockets *s = context;
	int fd = s->fd[PARTNERS];

	close(s->fd[OURS]);
	for (uint64_t i = 0; receive_all(fd, s->data, s->size); i++) {
		if (s->unpinned && i % LOOK_EVERY == 0)
			partner_note_self(p);
		if (!send_all(fd, s->data, s->size))
			return;
	}
}

static bool round_trip(const struct sockets *s)
{
	return send_all(s->fd[OURS], s->data, s->size) &&
	       receive_all(s->fd[OURS], s->data, s->size);
}

static int setup_latency(struct run *run)
{
	int status;

	if (!new_sockets(run))
		return json_error(1, ENOMEM, "socket.latency: no memory");
	status = start(run, (size_t)arg_number(&run->args, "message"), answer);
	if (status)
		return status;
	alarm(CONNECT_SECONDS);
	if (!round_trip(run->state))
		return json_error(77, 0, "socket.latency: kind=%s: no answer to the first message: "
					 "see whether a packet filter drops what goes over the "
					 "loopback interface", arg_text(&run->args, "kind"));
	alarm(0);
	return 0;
}

static int batch_latency(struct run *run, uint64_t iterations)
{
	struct sockets *s = run->state;
	uint64_t begin;

	alarm(BATCH_SECONDS);
	begin = clock_ns();
	for (uint64_t i = 0; i < iterations; i++) {
		if (!round_trip(s))
			return lost(run);
		if (s->unpinned && i % LOOK_EVERY == 0)
			partner_look(&s->partner);
	}
	run->elapsed_ns = clock_ns() - begin;
	alarm(0);
	return 0;
}

static const struct param latency_params[] = {
	{"kind", PARAM_CHOICE, "unix", 0, 0, "unix tcp udp",
	 "unix: a pair of stream sockets; tcp, udp: connected over the loopback interface"},
	{"message", PARAM_SIZE, "4", 1, 16384, NULL, "bytes sent each way"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark socket_latency = {
	.id = "socket.latency",
	.summary = "how long a message takes through a socket to another process and back",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: two sends, two receives, two switches or wake-ups",
	.method = "two processes and one connection; each receives before it sends; TCP without "
		  "Nagle's delay",
	.pitfalls = "placement: unpinned, the value is bimodal, up to ten times apart; packet "
		    "filters and network namespaces add to tcp and udp; over loopback the softirq "
		    "of the receiver runs on the sender's CPU",
	.not_measured = "a network interface, its driver and interrupts; making a connection; many "
			"connections, poll and epoll around them",
	.reference = "lat_unix, lat_tcp, lat_udp pinned: within 10 %; qperf tcp_lat and udp_lat and "
		"sockperf ping-pong state half a round trip, and look at the clock or poll besides",
	.params = latency_params,
	.switches = true,
	.setup = setup_latency,
	.batch = batch_latency,
	.value = value_ns_per_iteration,
	.detail = detail,
	.teardown = teardown,
};

/* --- socket.throughput ----------------------------------------------------------------------- */

/* Receives and forgets; says a word, by the pipe, each time the goal of bytes is reached. */
static void drain(struct partner *p, void *context)
{
	struct sockets *s = context;
	uint64_t got = 0;
	uint64_t reads = 0;

	close(s->fd[OURS]);
	for (;;) {
		ssize_t n = recv(s->fd[PARTNERS], s->data, s->size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (s->unpinned && reads++ % LOOK_EVERY == 0)
			partner_note_self(p);
		got += (uint64_t)n;
		if (got >= atomic_load(&p->shared->goal)) {
			got = 0;
			if (write(p->from[1], "", 1) != 1)
				return;
		}
	}
}

static int setup_throughput(struct run *run)
{
	if (!new_sockets(run))
		return json_error(1, ENOMEM, "socket.throughput: no memory");
	return start(run, (size_t)arg_number(&run->args, "block"), drain);
}

static bool hear_word(int fd)
{
	ssize_t n;
	char word;

	do
		n = read(fd, &word, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int batch_throughput(struct run *run, uint64_t iterations)
{
	struct sockets *s = run->state;
	uint64_t begin;

	atomic_store(&s->partner.shared->goal, iterations * s->size);
	begin = clock_ns();
	for (uint64_t i = 0; i < iterations; i++) {
		if (!send_all(s->fd[OURS], s->data, s->size))
			return lost(run);
		if (s->unpinned && i % LOOK_EVERY == 0)
			partner_look(&s->partner);
	}
	if (!hear_word(s->partner.from[0]))
		return lost(run);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static double value_throughput(const struct run *run)
{
	const struct sockets *s = run->state;

	return (double)s->size * (double)run->iterations / (double)run->elapsed_ns * 1e9;
}

static void describe_buffer(const struct run *run, struct json *j)
{
	const struct sockets *s = run->state;
	socklen_t length = sizeof(int);
	int bytes;

	if (getsockopt(s->fd[OURS], SOL_SOCKET, SO_SNDBUF, &bytes, &length) == 0)
		json_signed(j, "send_buffer_bytes", bytes);
	else
		json_na(j, "send_buffer_bytes", "the kernel does not tell");
}

static const struct param throughput_params[] = {
	{"kind", PARAM_CHOICE, "unix", 0, 0, "unix tcp",
	 "unix: a pair of stream sockets; tcp: a connection over the loopback interface"},
	{"block", PARAM_SIZE, "64K", 1, 16 << 20, NULL, "most bytes of one send and of one receive"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark socket_throughput = {
	.id = "socket.throughput",
	.summary = "how many bytes a second go through a socket to another process",
	.unit = "B/s",
	.better = "higher",
	.counted = "bytes sent, and received by the other process",
	.method = "one process sends blocks, the other receives and forgets them; a batch ends when "
		  "the last byte is received; buffers as the system gives them",
	.pitfalls = "the receiver is half of the benchmark; placement, as of socket.latency; tcp "
		    "grows its buffers while it runs, and over loopback it is copies and the "
		    "scheduler that are measured, not a network",
	.not_measured = "a network interface; several connections; sendfile, splice and zero-copy "
			"sending",
	.reference = "bw_unix and bw_tcp pinned, with the same block: within 20 %; iperf3 on 127.0.0.1 "
		"polls besides",
	.params = throughput_params,
	.switches = true,
	.setup = setup_throughput,
	.batch = batch_throughput,
	.value = value_throughput,
	.describe = describe_buffer,
	.detail = detail,
	.teardown = teardown,
};
