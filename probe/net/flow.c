/* Streams of payload. See flow.h. */
#include "net/flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h> /* that of the C library may lack the later fields of tcp_info */
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/place.h"
#include "net/address.h"

enum { STACK = 256 << 10, LOOK_NS = 1000000 };

#define PATIENCE_NS (SILENCE_MS / 2 * 1000000ull) /* half of what the other end has with us */

struct stream *flow_add(struct flow *f, int fd, bool sends)
{
	struct stream *s = &f->streams[f->count++];

	*s = (struct stream){.flow = f, .fd = fd, .cpu = -1, .sends = sends};
	return s;
}

int flow_prepare(struct flow *f)
{
	size_t block = (f->block + 63) & ~(size_t)63;
	size_t count = (size_t)f->count;
	size_t size = count * (block + STACK) + STACK;
	uint64_t seed = 1;

	if (posix_memalign((void **)&f->memory, 4096, size))
		return -ENOMEM;
	memset(f->memory, 0, size);
	for (size_t i = 0; i < count; i++)
		f->streams[i].buffer = f->memory + (count + 1) * STACK + i * block;
	/* random: a link that compresses must not make the payload smaller */
	for (size_t at = (count + 1) * STACK; at < size; at += sizeof(uint64_t))
		*(uint64_t *)(f->memory + at) = random_next(&seed);
	return 0;
}

static void nap(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

/* --- the streams at work --------------------------------------------------------------------- */

/* EINTR, a timeout of the socket, and a full device queue are no reason to give up. */
static bool passing(int error)
{
	return error == EINTR || error == EAGAIN || error == ENOBUFS;
}

static int send_bytes(struct stream *s)
{
	while (!s->flow->stop) {
		ssize_t n = send(s->fd, s->buffer, s->flow->block, MSG_NOSIGNAL);
		if (n < 0 && !passing(errno))
			return -errno;
		if (n > 0)
			s->bytes += (uint64_t)n;
	}
	return 0;
}

static int receive_bytes(struct stream *s)
{
	while (s->bytes < s->limit) {
		ssize_t n = recv(s->fd, s->buffer, s->flow->block, 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && !passing(errno))
			return -errno;
		if (n > 0)
			s->bytes += (uint64_t)n;
	}
	return 0;
}

/* When the next datagram is due; what a sleep that lasted too long has missed is made up for. */
static void keep_rate(const struct flow *f, uint64_t begin, uint64_t sent)
{
	uint64_t due = begin + (uint64_t)((double)sent * 1e9 / (double)f->rate);
	uint64_t now = clock_ns();

	if (due > now)
		nap(due - now);
}

/* A datagram begins as one of iperf3's: seconds, microseconds and a number from 1 on, each four
 * bytes, most significant first. */
static void fill_header(char *at, uint64_t number)
{
	uint64_t now = clock_ns();
	uint32_t header[4] = {htonl((uint32_t)(now / 1000000000u)),
			      htonl((uint32_t)(now / 1000u % 1000000u)), htonl((uint32_t)number), 0};

	memcpy(at, header, sizeof(header));
}

static int send_datagrams(struct stream *s)
{
	const struct flow *f = s->flow;
	uint64_t begin = clock_ns(), sent = 0;

	while (!f->stop) {
		if (f->rate)
			keep_rate(f, begin, sent);
		fill_header(s->buffer, s->messages + 1);
		ssize_t n = send(s->fd, s->buffer, f->block, MSG_NOSIGNAL);
		if (n < 0 && !passing(errno))
			return -errno;
		if (n < 0)
			continue;
		s->messages++;
		s->bytes += (uint64_t)n;
		sent += (uint64_t)n;
	}
	return 0;
}

static void note_datagram(struct stream *s, size_t length)
{
	uint32_t number;

	memcpy(&number, s->buffer + 8, sizeof(number));
	/* the number wraps around; how far it is from the highest tells which is the later */
	int32_t ahead = (int32_t)(ntohl(number) - (uint32_t)s->highest);
	if (ahead > 0)
		s->highest += (uint32_t)ahead;
	else
		s->misordered++;
	s->messages++;
	s->bytes += length;
}

static int receive_datagrams(struct stream *s)
{
	while (s->limit > 0) {
		ssize_t n = recv(s->fd, s->buffer, s->flow->block, 0);
		if (n < 0 && !passing(errno))
			return -errno;
		if (n >= DATAGRAM_HEADER)
			note_datagram(s, (size_t)n);
	}
	return 0;
}

static void fail(struct flow *f, int error)
{
	int none = 0;

	atomic_compare_exchange_strong(&f->error, &none, error);
}

static void *work(void *context)
{
	struct stream *s = context;
	struct flow *f = s->flow;
	int error;

	if (s->cpu >= 0)
		place_pin(s->cpu);
	if (s->sends)
		error = f->datagrams ? send_datagrams(s) : send_bytes(s);
	else
		error = f->datagrams ? receive_datagrams(s) : receive_bytes(s);
	if (error)
		fail(f, error);
	atomic_fetch_sub(s->sends ? &f->sending : &f->receiving, 1);
	return NULL;
}

/* --- a batch --------------------------------------------------------------------------------- */

struct conductor {
	struct flow *flow;
	int (*conduct)(void *context);
	void *context;
	int status;
};

static void end_all(struct flow *f)
{
	f->stop = true;
	for (int i = 0; i < f->count; i++)
		f->streams[i].limit = 0;
}

static void *conduct(void *context)
{
	struct conductor *c = context;

	place_pin(-1); /* it sleeps nearly always, but must not wait for a busy stream's CPU */
	c->status = c->conduct(c->context);
	end_all(c->flow);
	return NULL;
}

static int start(struct flow *f, pthread_t *thread, int slot, void *(*run)(void *), void *context)
{
	pthread_attr_t attributes;
	int error;

	/* Its stack is mapped and written already: a batch is not to take page faults. */
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, f->memory + (size_t)slot * STACK, STACK);
	error = pthread_create(thread, &attributes, run, context);
	pthread_attr_destroy(&attributes);
	return -error;
}

int flow_run(struct flow *f, int (*conduct_it)(void *context), void *context)
{
	struct conductor c = {.flow = f, .conduct = conduct_it, .context = context};
	pthread_t conductor;
	int error, started;

	f->stop = false;
	f->error = 0;
	f->sending = flow_streams(f, true);
	f->receiving = flow_streams(f, false);
	for (int i = 0; i < f->count; i++)
		f->streams[i].limit = UINT64_MAX;
	error = start(f, &conductor, 0, conduct, &c);
	if (error)
		return error;
	for (started = 1; started < f->count && error == 0; started++)
		error = start(f, &f->streams[started].thread, started, work, &f->streams[started]);
	if (error) {
		started--;
		fail(f, error);
		end_all(f);
	}
	work(&f->streams[0]);
	while (started-- > 1)
		pthread_join(f->streams[started].thread, NULL);
	pthread_join(conductor, NULL);
	return f->error ? f->error : c.status;
}

void flow_close(struct flow *f)
{
	for (int i = 0; i < f->count; i++)
		if (f->streams[i].fd >= 0)
			close(f->streams[i].fd);
	f->count = 0;
	free(f->memory);
	f->memory = NULL;
}

/* --- for conductors -------------------------------------------------------------------------- */

int flow_streams(const struct flow *f, bool sending)
{
	int count = 0;

	for (int i = 0; i < f->count; i++)
		count += f->streams[i].sends == sending;
	return count;
}

uint64_t flow_bytes(const struct flow *f, bool sent)
{
	uint64_t bytes = 0;

	for (int i = 0; i < f->count; i++)
		if (f->streams[i].sends == sent)
			bytes += f->streams[i].bytes;
	return bytes;
}

static bool lifeline_is_cut(const struct flow *f)
{
	char byte;

	return f->lifeline && recv(f->lifeline, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Waits until that time, or until a stream fails. */
static int wait_until(const struct flow *f, uint64_t until)
{
	enum { SLICE = 100000000 };

	for (uint64_t now = clock_ns(); now < until; now = clock_ns()) {
		if (f->error)
			return f->error;
		if (lifeline_is_cut(f))
			return -ECONNRESET;
		nap(until - now < SLICE ? until - now : SLICE);
	}
	return f->error;
}

int flow_pass(const struct flow *f, unsigned ms)
{
	return wait_until(f, clock_ns() + ms * 1000000ull);
}

/* Of a stream that receives: what has reached this system. A program that had to wait for its CPU
 * finds more in the socket's buffer than the link brought meanwhile, so by TCP the kernel's own
 * count is taken (4.1 and later). */
static uint64_t arrived(const struct stream *s)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (s->flow->datagrams || getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
	    length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
		return s->bytes;
	return info.tcpi_bytes_received;
}

static struct window look(const struct flow *f)
{
	struct window w = {.ns = clock_ns()};

	for (int i = 0; i < f->count; i++) {
		if (f->streams[i].sends)
			continue;
		w.bytes += arrived(&f->streams[i]);
		w.messages += f->streams[i].messages;
		w.lost += f->streams[i].highest; /* so far: the number of those sent */
		w.misordered += f->streams[i].misordered;
	}
	return w;
}

static struct window look_acknowledged(const struct flow *f)
{
	struct window w = {.ns = clock_ns()};

	for (int i = 0; i < f->count; i++) {
		struct tcp_info info = {0};
		socklen_t length = sizeof(info);
		if (f->streams[i].sends)
			getsockopt(f->streams[i].fd, IPPROTO_TCP, TCP_INFO, &info, &length);
		w.bytes += info.tcpi_bytes_acked;
	}
	return w;
}

static int between(struct flow *f, unsigned ramp_ms, unsigned window_ms, struct window *w,
		   struct window (*look_at)(const struct flow *f))
{
	uint64_t begin = clock_ns() + ramp_ms * 1000000ull;
	int error = wait_until(f, begin);
	struct window before = look_at(f);

	if (error == 0)
		error = wait_until(f, before.ns + window_ms * 1000000ull);
	*w = look_at(f);
	/* A slow link may bring nothing in a short window: its time is longer then, not its rate 0. */
	while (error == 0 && w->bytes == before.bytes && w->ns - before.ns < PATIENCE_NS) {
		error = wait_until(f, clock_ns() + LOOK_NS);
		*w = look_at(f);
	}
	if (error)
		return error;
	w->bytes -= before.bytes;
	w->ns -= before.ns;
	w->messages -= before.messages;
	w->lost -= before.lost;
	w->misordered -= before.misordered;
	/* Those sent, less those received; late ones of before may make that negative. */
	w->lost = w->lost > w->messages ? w->lost - w->messages : 0;
	return w->bytes > 0 ? 0 : -ENODATA;
}

int flow_window(struct flow *f, unsigned ramp_ms, unsigned window_ms, struct window *w)
{
	return between(f, ramp_ms, window_ms, w, look);
}

int flow_acknowledged(struct flow *f, unsigned ramp_ms, unsigned window_ms, struct window *w)
{
	return between(f, ramp_ms, window_ms, w, look_acknowledged);
}

/* Waits until no stream of that direction works any more, at most that long: -ETIMEDOUT then. */
static int wait_for(const struct flow *f, const _Atomic int *working, unsigned ms)
{
	uint64_t until = clock_ns() + ms * 1000000ull;

	while (*working > 0 && !f->error) {
		if (clock_ns() > until)
			return -ETIMEDOUT;
		nap(LOOK_NS);
	}
	return f->error;
}

static void limit_receivers(struct flow *f, const uint64_t *totals)
{
	int next = 0;

	for (int i = 0; i < f->count; i++)
		if (!f->streams[i].sends)
			f->streams[i].limit = totals ? totals[next++] : 0;
}

int flow_stop(struct flow *f)
{
	f->stop = true;
	return wait_for(f, &f->sending, SILENCE_MS);
}

int flow_drain(struct flow *f, const uint64_t *totals)
{
	enum { DRAIN_MS = 200 };

	limit_receivers(f, totals);
	if (wait_for(f, &f->receiving, DRAIN_MS) == -ETIMEDOUT)
		limit_receivers(f, NULL);
	return wait_for(f, &f->receiving, SILENCE_MS);
}

bool flow_tcp_facts(const struct flow *f, uint64_t *retransmits, uint64_t *rtt_ns)
{
	uint64_t count = 0;

	*retransmits = *rtt_ns = 0;
	for (int i = 0; i < f->count; i++) {
		struct tcp_info info = {0};
		socklen_t length = sizeof(info);
		if (!f->streams[i].sends || f->datagrams ||
		    getsockopt(f->streams[i].fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
			continue;
		*retransmits += info.tcpi_total_retrans;
		*rtt_ns += info.tcpi_rtt * 1000ull;
		count++;
	}
	if (count > 0)
		*rtt_ns /= count;
	return count > 0;
}

uint64_t tcp_rtt_ns(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info.tcpi_rtt * 1000ull;
}
