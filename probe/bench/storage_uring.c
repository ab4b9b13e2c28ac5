/* Several operations at a time by io_uring, without its library: two rings in shared memory, one
 * for what is asked and one for what is done (see io_uring(7)). */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/storage_io.h"
#include "core/clock.h"

/* What is on its way in a slot. */
struct flight {
	uint64_t offset, done, begin_ns;
	char *data;
	struct iovec part;
};

struct ring {
	int fd;
	void *asked, *answered; /* the mapped rings */
	size_t asked_bytes, answered_bytes, entries_bytes;
	struct io_uring_sqe *entries;
	unsigned *tail, *mask, *array;                  /* of what is asked */
	unsigned *done_head, *done_tail, *done_mask;    /* of what is answered */
	struct io_uring_cqe *done;
	unsigned pending; /* asked for, but not yet handed to the kernel */
	struct flight flights[DEPTH_MAX];
};

static void *map_ring(int fd, size_t bytes, uint64_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			(off_t)what);

	return at == MAP_FAILED ? NULL : at;
}

static void uring_close(struct io *io)
{
	struct ring *r = io->own;

	if (r->asked)
		munmap(r->asked, r->asked_bytes);
	if (r->answered)
		munmap(r->answered, r->answered_bytes);
	if (r->entries)
		munmap(r->entries, r->entries_bytes);
	close(r->fd);
	free(r);
	io->own = NULL;
}

static int map_rings(struct ring *r, const struct io_uring_params *p)
{
	char *asked, *answered;

	r->asked_bytes = p->sq_off.array + p->sq_entries * sizeof(unsigned);
	r->answered_bytes = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	r->entries_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	asked = r->asked = map_ring(r->fd, r->asked_bytes, IORING_OFF_SQ_RING);
	answered = r->answered = map_ring(r->fd, r->answered_bytes, IORING_OFF_CQ_RING);
	r->entries = map_ring(r->fd, r->entries_bytes, IORING_OFF_SQES);
	if (!asked || !answered || !r->entries)
		return -ENOMEM;
	r->tail = (unsigned *)(void *)(asked + p->sq_off.tail);
	r->mask = (unsigned *)(void *)(asked + p->sq_off.ring_mask);
	r->array = (unsigned *)(void *)(asked + p->sq_off.array);
	r->done_head = (unsigned *)(void *)(answered + p->cq_off.head);
	r->done_tail = (unsigned *)(void *)(answered + p->cq_off.tail);
	r->done_mask = (unsigned *)(void *)(answered + p->cq_off.ring_mask);
	r->done = (struct io_uring_cqe *)(void *)(answered + p->cq_off.cqes);
	return 0;
}

static int uring_open(struct io *io)
{
	struct io_uring_params params = {0};
	struct ring *r;
	int fd, error;

	if (io->flush)
		return -EINVAL;
	fd = (int)syscall(SYS_io_uring_setup, io->depth, &params);
	if (fd < 0)
		return -errno;
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return -ENOMEM;
	}
	r->fd = fd;
	io->own = r;
	error = map_rings(r, &params);
	if (error)
		uring_close(io);
	return error;
}

/* Asks for what is left of a slot's operation. */
static void ask(struct io *io, struct ring *r, uint32_t slot)
{
	struct flight *f = &r->flights[slot];
	unsigned tail = *r->tail;
	unsigned index = tail & *r->mask;
	struct io_uring_sqe *entry = &r->entries[index];

	f->part.iov_base = f->data + f->done;
	f->part.iov_len = (size_t)(io->block - f->done);
	memset(entry, 0, sizeof(*entry));
	/* the vectored calls, as 5.1 has no others */
	entry->opcode = io->write ? IORING_OP_WRITEV : IORING_OP_READV;
	entry->fd = io->fd;
	entry->off = f->offset + f->done;
	entry->addr = (uint64_t)(uintptr_t)&f->part;
	entry->len = 1;
	entry->user_data = slot;
	r->array[index] = index;
	__atomic_store_n(r->tail, tail + 1, __ATOMIC_RELEASE);
	r->pending++;
}

/* Hands over what is pending, and waits until `least` are done. */
static int enter(struct ring *r, unsigned least)
{
	long n = syscall(SYS_io_uring_enter, r->fd, r->pending, least, IORING_ENTER_GETEVENTS,
			 NULL, (size_t)0);

	if (n >= 0)
		r->pending -= (unsigned)n;
	else if (errno != EINTR && errno != EAGAIN && errno != EBUSY)
		return -errno;
	return 0;
}

/* Each operation is handed over at once. Handing over together what came back together keeps the
 * operations in step, so that the device has nothing to do in between: a quarter less at depth 32.
 */
static int begin(struct io *io, struct ring *r, uint32_t slot, uint64_t number)
{
	struct flight *f = &r->flights[slot];

	f->offset = io_offset(io, number);
	f->data = io_data(io, slot, number);
	f->done = 0;
	if (io->timed)
		f->begin_ns = clock_ns();
	ask(io, r, slot);
	return enter(r, 0);
}

/* Waits for an answer. Returns 0 or a negative errno, when the ring itself is broken. */
static int next_answer(struct ring *r, struct io_uring_cqe *answer)
{
	unsigned head = *r->done_head;

	while (head == __atomic_load_n(r->done_tail, __ATOMIC_ACQUIRE)) {
		int error = enter(r, 1);
		if (error)
			return error;
	}
	*answer = r->done[head & *r->done_mask];
	__atomic_store_n(r->done_head, head + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Takes in an answer. Returns 1 when the operation is complete, 0 when the rest of it was asked for
 * again, or a negative errno. */
static int finish(struct io *io, struct ring *r, const struct io_uring_cqe *answer)
{
	uint32_t slot = (uint32_t)answer->user_data;
	struct flight *f = &r->flights[slot];

	if (answer->res == 0)
		return -ENODATA;
	if (answer->res < 0 && answer->res != -EINTR && answer->res != -EAGAIN)
		return answer->res;
	if (answer->res > 0)
		f->done += (uint64_t)answer->res;
	if (f->done < io->block) {
		ask(io, r, slot);
		return 0;
	}
	if (io->timed)
		latencies_add(&io->latencies[slot], clock_ns() - f->begin_ns);
	return 1;
}

/* After an error nothing new is begun, but what is on its way must come back: it moves data. */
static int uring_run(struct io *io, uint64_t first, uint64_t end)
{
	struct ring *r = io->own;
	uint32_t flying = 0;
	int error = 0, broken = 0;

	for (; flying < io->depth && first < end && broken == 0; flying++)
		broken = begin(io, r, flying, first++);
	while (flying > 0 && broken == 0) {
		struct io_uring_cqe answer;
		int complete;

		broken = next_answer(r, &answer);
		complete = broken ? 0 : finish(io, r, &answer);
		if (complete == 0)
			continue;
		if (complete < 0)
			error = complete;
		if (error == 0 && first < end)
			broken = begin(io, r, (uint32_t)answer.user_data, first++);
		else
			flying--;
	}
	return broken ? broken : error;
}

const struct engine engine_io_uring = {"io_uring", uring_open, uring_run, uring_close};
