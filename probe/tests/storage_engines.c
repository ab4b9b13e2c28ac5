/* Every engine moves every block, each to its place and once; what is written is random, and no two
 * sectors are alike; the end of a file is an error. */
#include <errno.h>

#include "bench/storage_io.h"
#include "tests/check.h"

enum { BLOCK = 8192, BLOCKS = 200, SECTOR = 4096, SECTORS = BLOCKS * BLOCK / SECTOR };

static char content[BLOCKS * BLOCK];
static FILE *file;

static struct io io_for(bool write, uint32_t depth)
{
	return (struct io){.fd = fileno(file),
			   .write = write,
			   .random = depth > 1,
			   .block = BLOCK,
			   .blocks = BLOCKS,
			   .depth = depth,
			   .seed = 7,
			   .timed = true};
}

static int by_content(const void *a, const void *b)
{
	return memcmp(a, b, SECTOR);
}

/* In random data all bytes come about equally often. */
static void check_random(void)
{
	static unsigned count[256];
	double expected = sizeof(content) / 256.0;

	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < sizeof(content); i++)
		count[(unsigned char)content[i]]++;
	for (int i = 0; i < 256; i++)
		CHECK(count[i] > 0.5 * expected && count[i] < 1.5 * expected);
	qsort(content, SECTORS, SECTOR, by_content);
	for (int i = 1; i < SECTORS; i++)
		CHECK(memcmp(content + (i - 1) * SECTOR, content + i * SECTOR, SECTOR) != 0);
}

static bool open_io(struct io *io, const char *engine)
{
	int error = io_open(io, engine);

	if (error == -ENOSYS || error == -EPERM) {
		io_close(io);
		return false; /* io_uring is not there */
	}
	CHECK(error == 0);
	return true;
}

static void test(const char *engine, uint32_t depth)
{
	struct io io = io_for(true, depth);

	CHECK(ftruncate(fileno(file), 0) == 0);
	if (!open_io(&io, engine))
		return;
	/* in parts, as batches are */
	CHECK(io_run(&io, 1) == 0);
	CHECK(io_run(&io, BLOCKS - 1) == 0);
	CHECK(io_latencies(&io)->count == BLOCKS);
	io_latencies_clear(&io);
	CHECK(io_latencies(&io)->count == 0);
	io_close(&io);
	CHECK(pread(fileno(file), content, sizeof(content), 0) == (ssize_t)sizeof(content));
	check_random();

	io = io_for(false, depth);
	CHECK(open_io(&io, engine));
	CHECK(io_run(&io, 3 * BLOCKS) == 0);
	CHECK(io_latencies(&io)->count == 3 * BLOCKS);
	/* the file ends in the middle of the last block */
	CHECK(ftruncate(fileno(file), (off_t)(BLOCKS - 1) * BLOCK + 100) == 0);
	CHECK(io_run(&io, BLOCKS) == -ENODATA);
	io_close(&io);

	/* nothing to write to */
	io = io_for(true, depth);
	io.fd = -1;
	CHECK(open_io(&io, engine));
	CHECK(io_run(&io, BLOCKS) == -EBADF);
	io_close(&io);
}

static void test_each_flushed(uint32_t depth)
{
	struct io io = io_for(true, depth);

	io.flush = fdatasync;
	CHECK(io_open(&io, "auto") == 0);
	CHECK_TEXT(io.engine->name, depth == 1 ? "sync" : "threads");
	CHECK(io_run(&io, 5) == 0);
	CHECK(io_latencies(&io)->count == 5);
	io_close(&io);
	CHECK(io_open(&io, "io_uring") == -EINVAL);
	io_close(&io);
}

int main(void)
{
	struct io io;
	uint32_t factor = is_emulated() ? 40 : 5;

	file = tmpfile();
	CHECK(file != NULL);
	test("sync", 1);
	test("auto", 1);
	for (uint32_t depth = 1; depth <= DEPTH_MAX; depth = depth * factor + 1) {
		test("threads", depth);
		test("io_uring", depth);
		test("auto", depth);
	}
	test_each_flushed(1);
	test_each_flushed(4);
	io = io_for(false, 2);
	CHECK(io_open(&io, "sync") == -EINVAL); /* one at a time */
	io_close(&io);
	return 0;
}
