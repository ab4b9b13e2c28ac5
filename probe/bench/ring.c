/* A ring of processes. See ring.h. The method is that of lat_ctx (lmbench, McVoy and Staelin). */
#include "bench/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/partner.h"

/* The token is the number of processes that have had it. */
static bool take_token(int fd, uint32_t *token)
{
	ssize_t n;

	do
		n = read(fd, token, sizeof(*token));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*token);
}

static bool give_token(int fd, uint32_t token)
{
	ssize_t n;

	do
		n = write(fd, &token, sizeof(token));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(token);
}

unsigned long ring_read(const unsigned long *memory, size_t size)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < size / sizeof(*memory); i++)
		sum += memory[i];
	return sum;
}

void **ring_chase(void **at, size_t size)
{
	for (size_t i = 0; i < size / RING_LINE; i++)
		at = *(void *volatile *)at;
	return at;
}

static void go_through(struct ring *r)
{
	if (r->size == 0)
		return;
	if (r->random) {
		r->memory.at = ring_chase(r->memory.at, r->size);
	} else {
		unsigned long sum = ring_read(r->memory.buffer.data, r->size);
		__asm__ volatile("" : : "r"(sum)); /* so that it is read */
	}
}

/* Written by the process that reads it: pages not yet written would be one page of zeros for all,
 * and pages initialised ahead of the fork would be shared. */
static int get_memory(struct ring *r)
{
	int error = r->size ? buffer_map(&r->memory.buffer, r->size, "4k") : 0;

	if (error || r->size == 0)
		return error;
	buffer_write_random(&r->memory.buffer);
	return r->random ? chase_link(&r->memory, RING_LINE, r->size) : 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void hand_on(struct ring *r, int in, int out)
{
	uint32_t token;

	if (get_memory(r) < 0)
		return;
	while (take_token(in, &token)) {
		go_through(r);
		if (!give_token(out, token + 1))
			return;
	}
}

/* One more process, which reads where the last one writes. Only the ends that are needed next stay
 * open here, so that a ring of any length takes few descriptors, and its end is seen by all when
 * one of them goes away. */
static int add_process(struct ring *r, unsigned number)
{
	int ends[2];
	int error;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r->children[number] = partner_fork();
	if (r->children[number] == 0) {
		close_end(&r->out);
		close_end(&ends[0]);
		hand_on(r, r->in, ends[1]);
		_exit(0);
	}
	error = r->children[number] < 0 ? -errno : 0;
	close_end(&ends[1]);
	close_end(&r->in);
	r->in = ends[0];
	return error;
}

int ring_start(struct ring *r, unsigned *started)
{
	int ends[2];
	int error = 0;

	r->out = r->in = -1;
	*started = 1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r->in = ends[0];
	r->out = ends[1];
	for (unsigned i = 1; i < r->processes && error == 0; i++) {
		error = add_process(r, i);
		*started += error == 0;
	}
	if (error == 0)
		error = get_memory(r);
	if (error == 0 && !ring_pass(r, 1))
		error = -EPIPE;
	return error;
}

void ring_stop(struct ring *r)
{
	close_end(&r->out);
	close_end(&r->in);
	for (unsigned i = 1; i < r->processes; i++)
		if (r->children[i] > 0)
			kill(r->children[i], SIGKILL);
	for (unsigned i = 1; i < r->processes; i++)
		if (r->children[i] > 0)
			waitpid(r->children[i], NULL, 0);
	buffer_unmap(&r->memory.buffer);
}

bool ring_pass(struct ring *r, uint64_t rounds)
{
	uint32_t wanted = (uint32_t)(rounds * r->processes);
	uint32_t token = 0;

	while (rounds--) {
		if (!give_token(r->out, token + 1) || !take_token(r->in, &token))
			return false;
		go_through(r);
	}
	return token == wanted;
}

double ring_overhead(struct ring *r, uint64_t passes)
{
	enum { PARTS = 4, WARM_PASSES = 2 };
	double least = INFINITY;
	bool all_well = true;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	for (int part = -1; part < PARTS && all_well; part++) {
		uint64_t count = part < 0 ? WARM_PASSES : passes;
		uint64_t begin = clock_ns();
		for (uint64_t i = 0; i < count && all_well; i++) {
			uint32_t token = 0;
			all_well = give_token(ends[1], token) && take_token(ends[0], &token);
			go_through(r);
		}
		if (part >= 0)
			least = fmin(least, (double)(clock_ns() - begin) / (double)passes);
	}
	close(ends[0]);
	close(ends[1]);
	return all_well ? least : -1;
}
