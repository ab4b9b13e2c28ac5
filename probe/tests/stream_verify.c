/* The reader of pipe.throughput finds every byte that is not what was written: one that was changed,
 * lost or doubled, blocks that changed places, and pages that were written again while they were
 * in the pipe, as a careless user of vmsplice does. */
#include "bench/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "tests/check.h"

enum { SIZE = 48 * 1024, ROOM = 1000 }; /* fits a pipe; is read in pieces */

static char data[SIZE];
static char buffer[ROOM];

/* What the reader says of these bytes, of which it expects `bytes`. */
static int check(size_t size, uint64_t bytes, uint64_t *position)
{
	int ends[2];
	int error;

	CHECK(pipe(ends) == 0);
	CHECK(write(ends[1], data, size) == (ssize_t)size);
	close(ends[1]);
	error = stream_check(ends[0], buffer, ROOM, bytes, position);
	close(ends[0]);
	return error;
}

static void test_right(void)
{
	uint64_t position;

	stream_make(data, 0, SIZE);
	CHECK(check(SIZE, SIZE, &position) == 0 && position == SIZE);
	CHECK(check(0, 0, &position) == 0 && position == 0);
	CHECK(check(SIZE, SIZE - 1, &position) == 0); /* what comes after is the next one's */
	CHECK(check(SIZE - 1, SIZE, &position) == -EPIPE && position == SIZE - 1);
	for (size_t i = 1; i < SIZE; i += 2)
		CHECK(data[i] == '\n' && data[i - 1] >= '0' && data[i - 1] < 127);
}

static void test_made_in_pieces(void)
{
	uint64_t position;

	for (size_t at = 0; at < SIZE; at += 333)
		stream_make(data + at, at, at + 333 < SIZE ? 333 : SIZE - at);
	CHECK(check(SIZE, SIZE, &position) == 0);
}

static void test_changed(void)
{
	static const size_t places[] = {0, 1, 999, 1000, 4096, SIZE - 1};
	uint64_t position;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		stream_make(data, 0, SIZE);
		data[places[i]] ^= 1;
		CHECK(check(SIZE, SIZE, &position) == -EBADMSG && position == places[i]);
	}
}

/* Whatever part of a stream comes in place of another, also one a whole number of pages away. */
static void test_displaced(void)
{
	static const size_t far[] = {1, 2, 4096, 8192, 16384, 3 * 4096};
	uint64_t position;

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		stream_make(data, 0, SIZE / 2);
		stream_make(data + SIZE / 2, SIZE / 2 + far[i], SIZE / 2); /* lost bytes */
		CHECK(check(SIZE, SIZE, &position) == -EBADMSG);
		CHECK(position >= SIZE / 2 && position < SIZE / 2 + 4);
		stream_make(data + SIZE / 2, SIZE / 2 - far[i], SIZE / 2); /* or doubled ones */
		CHECK(check(SIZE, SIZE, &position) == -EBADMSG);
		CHECK(position >= SIZE / 2 && position < SIZE / 2 + 4);
	}
	/* as when the block after next came instead: far beyond the first 4 GiB, too */
	stream_make(data, 1ull << 33, SIZE);
	CHECK(stream_compare(data, 1ull << 33, SIZE) == SIZE);
	CHECK(stream_compare(data, (1ull << 33) + (1u << 20), SIZE) < 4);
}

static void test_written_again_in_the_pipe(void)
{
	static _Alignas(65536) char pages[2 * 65536];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct iovec block = {.iov_base = pages, .iov_len = page};
	uint64_t position;
	int ends[2];

	CHECK(page <= sizeof(pages) && pipe(ends) == 0);
	stream_make(pages, 0, page);
	if (vmsplice(ends[1], &block, 1, 0) != (ssize_t)page)
		SKIP("this kernel has no vmsplice");
	stream_make(pages, page, page); /* the next block, in the same place */
	CHECK(stream_check(ends[0], buffer, ROOM, page, &position) == -EBADMSG && position < 4);
}

int main(void)
{
	test_right();
	test_made_in_pieces();
	test_changed();
	test_displaced();
	test_written_again_in_the_pipe();
	return 0;
}
