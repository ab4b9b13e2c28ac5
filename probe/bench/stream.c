/* pipe.throughput: bytes, or references to pages, that go through a pipe. */
#include "bench/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/pingpong.h"
#include "core/buffer.h"
#include "core/clock.h"

/* --- bytes that tell their place -------------------------------------------------------------- */

enum { LINE = 2 }; /* bytes of a line: a character and its end */

/* Fibonacci hashing: neighbours differ, and so does any line from the one that a whole number of
 * blocks or pages ahead of it has. */
static char made(uint64_t position)
{
	uint32_t line = (uint32_t)(position / LINE);

	return position % LINE ? '\n' : (char)('0' + (line * 2654435761u >> 26));
}

void stream_make(char *data, uint64_t position, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = made(position + i);
}

size_t stream_compare(const char *data, uint64_t position, size_t size)
{
	size_t i = 0;

	while (i < size && data[i] == made(position + i))
		i++;
	return i;
}

int stream_check(int fd, char *buffer, size_t room, uint64_t bytes, uint64_t *position)
{
	*position = 0;
	while (*position < bytes) {
		uint64_t left = bytes - *position;
		ssize_t n = read(fd, buffer, left < room ? (size_t)left : room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		size_t right = stream_compare(buffer, *position, (size_t)n);
		*position += right;
		if (right < (size_t)n)
			return -EBADMSG;
	}
	return 0;
}

/* --- the two ends ----------------------------------------------------------------------------- */

struct stream {
	struct partner partner;
	struct buffer blocks; /* the writer's: one, or two used alternately */
	const struct writer *writer;
	size_t block;
	size_t unit; /* bytes of an iteration: a block, in whole lines */
	unsigned turn, turns;
	FILE *out;       /* of writers that print */
	int null;        /* where the reader splices to; -1: it reads */
	int capacity;    /* as granted */
	uint64_t verify; /* bytes */
	bool unpinned;
};

struct writer {
	const char *name;
	bool (*put)(struct stream *s, char *block);
	int buffering; /* of one that prints */
};

/* What the reader says: that it has read as far as it should, or has met a wrong byte. */
enum { REACHED = 'r', WRONG = 'w' };

static void say(struct partner *p, char word)
{
	while (write(p->from[1], &word, 1) < 0 && errno == EINTR)
		;
}

static char hear(struct partner *p)
{
	char word;
	ssize_t n;

	do
		n = read(p->from[0], &word, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? word : '\0';
}

/* Takes everything and forgets it; says a word each time the goal of bytes is reached. */
static void drain(struct partner *p, const struct stream *s, char *data)
{
	uint64_t got = 0;

	for (uint64_t takes = 0;; takes++) {
		ssize_t n = s->null < 0 ? read(p->to[0], data, s->block)
					: splice(p->to[0], NULL, s->null, NULL, s->block, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (s->unpinned && takes % LOOK_EVERY == 0)
			partner_note_self(p);
		got += (uint64_t)n;
		if (got >= atomic_load(&p->shared->goal)) {
			got = 0;
			say(p, REACHED);
		}
	}
}

static void serve(struct partner *p, void *context)
{
	const struct stream *s = context;
	char *data = malloc(s->block);
	uint64_t position;
	int error = data ? stream_check(p->to[0], data, s->block, s->verify, &position) : -ENOMEM;

	if (error == -EBADMSG) {
		atomic_store(&p->shared->goal, position);
		say(p, WRONG);
	} else if (error == 0) {
		if (s->verify)
			say(p, REACHED);
		drain(p, s, data);
	}
	free(data);
}

static bool put_write(struct stream *s, char *block)
{
	for (size_t done = 0; done < s->block;) {
		ssize_t n = write(s->partner.to[1], block + done, s->block - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool put_vmsplice(struct stream *s, char *block)
{
	struct iovec rest = {.iov_base = block, .iov_len = s->block};

	while (rest.iov_len > 0) {
		ssize_t n = vmsplice(s->partner.to[1], &rest, 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		rest.iov_base = (char *)rest.iov_base + n;
		rest.iov_len -= (size_t)n;
	}
	return true;
}

static bool put_lines(struct stream *s, char *block)
{
	for (size_t i = 0; i < s->unit; i += LINE)
		if (fprintf(s->out, "%c\n", block[i]) != LINE)
			return false;
	return true;
}

/* Sends that many iterations; `make`: each byte such that it tells its place. */
static bool send_blocks(struct stream *s, uint64_t iterations, bool make)
{
	for (uint64_t i = 0; i < iterations; i++) {
		char *block = (char *)s->blocks.data + s->turn * s->unit;
		if (make)
			stream_make(block, i * s->unit, s->unit);
		if (!s->writer->put(s, block))
			return false;
		s->turn = (s->turn + 1) % s->turns;
		if (s->unpinned && i % LOOK_EVERY == 0)
			partner_look(&s->partner);
	}
	return !s->out || fflush(s->out) == 0;
}

static int transfer(struct run *run, uint64_t iterations, bool make)
{
	struct stream *s = run->state;
	struct partner *p = &s->partner;
	bool sent = send_blocks(s, iterations, make);
	char word = hear(p); /* also of a reader that stopped at a wrong byte and left */

	if (sent && word == REACHED)
		return 0;
	if (word == WRONG)
		return json_error(1, EBADMSG, "pipe.throughput: byte %llu out of the pipe is not "
					      "what was written into it: the values would mean "
					      "nothing",
				  (unsigned long long)atomic_load(&p->shared->goal));
	return json_error(1, EPIPE, "pipe.throughput: the other process went away: it was killed, or "
				    "its CPU was taken away");
}

/* --- setting up ------------------------------------------------------------------------------- */

static const struct writer writers[] = {
	{"write", put_write, -1},
	{"line", put_lines, _IOLBF},
	{"stdio", put_lines, _IOFBF},
	{"vmsplice", put_vmsplice, -1},
};

/* Kernels may be built without these calls, and emulators are: each once, on a pipe of its own. */
static int try_splicing(bool in, int null)
{
	char byte = 0;
	struct iovec one = {.iov_base = &byte, .iov_len = 1};
	int ends[2], error = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if ((in ? vmsplice(ends[1], &one, 1, 0) : write(ends[1], &byte, 1)) != 1)
		error = -errno;
	else if (null >= 0 && splice(ends[0], NULL, null, NULL, 1, 0) != 1)
		error = -errno;
	close(ends[0]);
	close(ends[1]);
	return error;
}

static int check_calls(struct run *run, struct stream *s)
{
	int error;

	if (arg_is(&run->args, "reader", "splice")) {
		s->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (s->null < 0)
			return json_error(77, errno, "pipe.throughput: reader=splice needs "
						     "/dev/null, which cannot be opened");
	}
	error = try_splicing(s->writer->put == put_vmsplice, s->null);
	if (error)
		return json_error(77, -error, "pipe.throughput: this kernel cannot do writer=%s "
					      "with reader=%s",
				  s->writer->name, arg_text(&run->args, "reader"));
	return 0;
}

static int size_pipe(struct run *run, struct stream *s)
{
	int wanted = (int)arg_number(&run->args, "pipe");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	s->capacity = fcntl(s->partner.to[1], F_SETPIPE_SZ, wanted);
	if (s->capacity < 0)
		return json_error(77, errno,
				  "pipe.throughput: a pipe of %d bytes is not allowed: see "
				  "/proc/sys/fs/pipe-max-size, or choose a smaller one", wanted);
	/* Then a block is in the pipe only when the one before it has left, and may be made anew. */
	if (s->writer->put == put_vmsplice &&
	    (s->block % page || s->block < (size_t)s->capacity))
		return json_error(2, EINVAL,
				  "pipe.throughput: writer=vmsplice takes blocks of whole pages "
				  "that fill the pipe, say block=%d: of a smaller one, pages would "
				  "be overwritten that are still in the pipe", s->capacity);
	return 0;
}

static int open_writer(struct run *run, struct stream *s)
{
	enum { KEPT_BACK = 8 }; /* what musl takes of a buffer for ungetc() */
	size_t room = s->block + KEPT_BACK;
	int error = buffer_map(&s->blocks, s->turns * s->unit + room, "default");
	int fd = -1;

	if (error)
		return json_error(77, -error, "pipe.throughput: no memory for blocks of %zu bytes",
				  s->block);
	stream_make(s->blocks.data, 0, s->turns * s->unit);
	if (s->writer->put != put_lines)
		return 0;
	fd = fcntl(s->partner.to[1], F_DUPFD_CLOEXEC, 0);
	s->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!s->out)
		return json_error(1, errno, "%s: cannot print into a pipe", run->benchmark->id);
	if (s->writer->buffering == _IOFBF)
		setvbuf(s->out, (char *)s->blocks.data + s->turns * s->unit, _IOFBF, room);
	else
		setvbuf(s->out, NULL, _IOLBF, 0);
	return 0;
}

/* A few times round the pipe and round the blocks; of single lines, each of which may wake the
 * reader, no more than take a second at worst. */
static uint64_t bytes_to_verify(const struct run *run, const struct stream *s)
{
	enum { ROUNDS = 8, LINES = 16384 };
	uint64_t largest = arg_number(&run->args, "pipe");
	uint64_t bytes;

	if (arg_is(&run->args, "verify", "no"))
		return 0;
	if (largest < s->block)
		largest = s->block;
	bytes = s->writer->buffering == _IOLBF ? LINES * LINE : ROUNDS * largest;
	return (bytes + s->unit - 1) / s->unit * s->unit;
}

/* What a byte of the result is. */
static void label(struct run *run, bool spliced_in, bool spliced_out)
{
	if (spliced_in && spliced_out)
		run->counted = "page references passed, not bytes copied";
	else if (spliced_in)
		run->counted = "page references passed into the pipe; the reader copies the bytes";
	else if (spliced_out)
		run->counted = "bytes written; the reader passes page references and copies none";
	if (spliced_in)
		run_caveat(run, "page references passed, not bytes copied: vmsplice lends the "
				"writer's own pages to the pipe");
	if (spliced_out)
		run_caveat(run, "no byte is looked at: the reader splices the pages to /dev/null");
}

static int setup(struct run *run)
{
	struct stream *s = calloc(1, sizeof(*s));
	int status;

	run->state = s;
	if (!s)
		return json_error(1, ENOMEM, "pipe.throughput: no memory");
	s->null = -1;
	s->writer = writers;
	while (!arg_is(&run->args, "writer", s->writer->name))
		s->writer++;
	s->block = (size_t)arg_number(&run->args, "block");
	s->unit = s->writer->put == put_lines ? (s->block + 1) / LINE * LINE : s->block;
	s->turns = s->writer->put == put_vmsplice ? 2 : 1;
	s->unpinned = run->place.cpu < 0;
	s->verify = bytes_to_verify(run, s);
	label(run, s->writer->put == put_vmsplice, arg_is(&run->args, "reader", "splice"));
	status = check_calls(run, s);
	if (status == 0)
		status = partner_start(&s->partner, run, serve, s);
	if (status == 0)
		status = size_pipe(run, s);
	if (status == 0)
		status = open_writer(run, s);
	if (status == 0 && s->verify)
		status = transfer(run, s->verify / s->unit, true);
	return status;
}

static int batch(struct run *run, uint64_t iterations)
{
	struct stream *s = run->state;
	uint64_t begin;
	int status;

	atomic_store(&s->partner.shared->goal, iterations * s->unit);
	begin = clock_ns();
	status = transfer(run, iterations, false);
	run->elapsed_ns = clock_ns() - begin;
	return status;
}

static double value(const struct run *run)
{
	const struct stream *s = run->state;

	return (double)s->unit * (double)run->iterations / (double)run->elapsed_ns * 1e9;
}

static void describe(const struct run *run, struct json *j)
{
	const struct stream *s = run->state;

	json_signed(j, "pipe_bytes", s->capacity);
	if (s->verify)
		json_unsigned(j, "verified_bytes", s->verify);
	else
		json_na(j, "verified_bytes", "switched off");
}

static void detail(const struct run *run, struct json *j)
{
	struct stream *s = run->state;

	partner_describe(&s->partner, j);
}

static void teardown(struct run *run)
{
	struct stream *s = run->state;

	if (!s)
		return;
	partner_stop(&s->partner);
	if (s->out)
		fclose(s->out); /* whose reader has gone: nothing can block */
	if (s->null >= 0)
		close(s->null);
	buffer_unmap(&s->blocks);
	free(s);
}

static const struct param params[] = {
	{"writer", PARAM_CHOICE, "write", 0, 0, "line stdio write vmsplice",
	 "line: printf of lines of 2 bytes, each line a write(2); stdio: the same printf, fully "
	 "buffered, a write(2) a block; write: write(2) of ready blocks; vmsplice: lends the pages "
	 "of two blocks in turn to the pipe (block: whole pages, no smaller than the pipe)"},
	{"reader", PARAM_CHOICE, "read", 0, 0, "read splice",
	 "read: copies into a buffer and forgets it; splice: passes the pages on to /dev/null"},
	{"block", PARAM_SIZE, "16K", 1, 16 << 20, NULL,
	 "most bytes of one read or splice, and of one write, vmsplice or buffer of stdio"},
	{"pipe", PARAM_SIZE, "64K", 4096, 16 << 20, NULL,
	 "capacity asked for the pipe (begin.pipe_bytes says what was granted)"},
	{"verify", PARAM_CHOICE, "yes", 0, 0, "yes no",
	 "yes: before anything is timed, each process sends some pipefuls of which the reader "
	 "compares every byte (begin.verified_bytes)"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark pipe_throughput = {
	.id = "pipe.throughput",
	.summary = "how many bytes a second go through a pipe, by how they are put into it",
	.unit = "B/s",
	.better = "higher",
	.counted = "bytes written, and read by the other process",
	.method = "one process writes, the other reads and forgets; a batch ends when the last byte "
		  "is read. From writer=line to vmsplice the same stream of lines costs ever less: "
		  "first a system call a line, then printf a line, then one copy in and one out, "
		  "then neither. Before it is timed, each process sends bytes of which each tells "
		  "its place; one that comes out wrong is an error (reader=splice, too, reads for "
		  "that). In what is timed no byte is made or looked at",
	.pitfalls = "the reader is half of the benchmark (pv, dd and cat read in ways of their "
		    "own); a block as large as the pipe makes the two wait for each other; "
		    "placement, as of pipe.latency; vmsplice and splice pass references to pages, "
		    "so their values are no rate of copying, and a writer must not touch a page "
		    "until it has left the pipe: here each block fills the pipe, so the other one "
		    "is free; printf is that of the probe's C library, not of the board's",
	.not_measured = "making or using the data; what a reader that keeps the spliced pages (a "
			"file, a socket) would cost",
	.reference = "writer=write: bw_pipe pinned, with the same block: within 20 %; GNU yes into this "
		"reader: the order; yes | pv also measures pv",
	.params = params,
	.switches = true,
	.setup = setup,
	.batch = batch,
	.value = value,
	.describe = describe,
	.detail = detail,
	.teardown = teardown,
};
