/* Reading and writing blocks of a file, some at a time. See storage_io.h. */
#include "bench/storage_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

const char engine_choices[] = "auto sync threads io_uring";
const char engine_summary[] =
	"how operations are kept going: sync (one at a time), a thread for each, io_uring; auto: "
	"sync at depth 1, else io_uring, or threads where the kernel does not offer it "
	"(begin.storage.engine)";

enum { POOL_BYTES = 4 << 20, STAMP_EVERY = 4096 };

/* --- where ----------------------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Each step of a round maps the numbers of so many bits onto themselves one to one, so all of it
 * does; what lies outside 0 to n - 1 is mapped on until it is inside (cycle walking). */
uint64_t shuffled(uint64_t number, uint64_t n, uint64_t seed)
{
	uint64_t key = mix(seed + number / n);
	uint64_t at = number % n;
	unsigned bits = 2;
	uint64_t mask;

	while (bits < 63 && n > 1ull << bits)
		bits++;
	mask = (1ull << bits) - 1;
	do {
		for (int round = 0; round < 3; round++) {
			at = (at + (key >> 16 * round)) & mask;
			at = (at * 0xd6e8feb86659fd93ull) & mask;
			at ^= at >> (bits + 1) / 2;
		}
	} while (at >= n);
	return at;
}

uint64_t io_offset(const struct io *io, uint64_t number)
{
	if (io->random)
		return shuffled(number, io->blocks, io->seed) * io->block;
	return number % io->blocks * io->block;
}

/* --- what ------------------------------------------------------------------------------------ */

void random_fill(void *data, uint64_t bytes, uint64_t seed)
{
	uint64_t state = mix(seed) | 1;
	uint64_t *word = data;

	for (uint64_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = random_next(&state);
}

/* Bytes of the pool that belong to each slot. */
static uint64_t slot_bytes(const struct io *io)
{
	uint64_t share = POOL_BYTES / io->depth / io->block;

	return (share ? share : 1) * io->block;
}

/* Reads all go to one place, as a program's do. Writes take another block of the slot's random data
 * each time, and each sector-to-be of 4 KiB gets a number of its own: neither compression nor
 * deduplication, in a file system or a drive, finds anything. A slot's data rests while it is on its
 * way. */
char *io_data(struct io *io, uint32_t slot, uint64_t number)
{
	uint64_t own = slot_bytes(io);
	char *data = (char *)io->pool.data + slot * own;
	uint64_t unique = io->salt + (number << 12);

	if (!io->write)
		return data;
	/* numbers in order would meet each slot at the same step again and again */
	data += (io->random ? mix(number) : number) % (own / io->block) * io->block;
	for (uint64_t at = 0; at < io->block; at += STAMP_EVERY) {
		uint64_t stamp = mix(unique++); /* one to one */
		memcpy(data + at, &stamp, sizeof(stamp));
	}
	return data;
}

/* --- one at a time --------------------------------------------------------------------------- */

static int move(const struct io *io, char *data, uint64_t offset)
{
	for (uint64_t done = 0; done < io->block;) {
		size_t left = (size_t)(io->block - done);
		off_t at = (off_t)(offset + done);
		ssize_t n = io->write ? pwrite(io->fd, data + done, left, at)
				      : pread(io->fd, data + done, left, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += (uint64_t)n;
	}
	return 0;
}

int io_one(struct io *io, uint32_t slot, uint64_t number)
{
	uint64_t offset = io_offset(io, number);
	char *data = io_data(io, slot, number);
	uint64_t begin = io->timed ? clock_ns() : 0;
	int error = move(io, data, offset);

	if (error == 0 && io->flush && io->flush(io->fd) < 0)
		error = -errno;
	if (io->timed)
		latencies_add(&io->latencies[slot], clock_ns() - begin);
	return error;
}

static int sync_open(struct io *io)
{
	return io->depth == 1 ? 0 : -EINVAL;
}

static int sync_run(struct io *io, uint64_t first, uint64_t end)
{
	int error = 0;

	for (uint64_t i = first; i < end && error == 0; i++)
		error = io_one(io, 0, i);
	return error;
}

static void sync_close(struct io *io)
{
	(void)io;
}

const struct engine engine_sync = {"sync", sync_open, sync_run, sync_close};

/* --- all ------------------------------------------------------------------------------------- */

static int start_engine(struct io *io, const char *wanted)
{
	static const struct engine *const engines[] = {&engine_sync, &engine_threads,
						       &engine_io_uring};
	int error;

	for (int i = 0; i < 3; i++)
		if (strcmp(wanted, engines[i]->name) == 0)
			io->engine = engines[i];
	if (!io->engine)
		io->engine = io->depth == 1 ? &engine_sync
			     : io->flush    ? &engine_threads
					    : &engine_io_uring;
	error = io->engine->open(io);
	if (error && io->engine == &engine_io_uring && strcmp(wanted, "auto") == 0) {
		snprintf(io->why, sizeof(io->why), "io_uring is not available: %s",
			 error == -EPERM ? "EPERM (kernel.io_uring_disabled, or a seccomp filter)"
			 : error == -ENOSYS ? "ENOSYS (it came with Linux 5.1)"
					    : errno_name(-error));
		io->engine = &engine_threads;
		error = io->engine->open(io);
	}
	if (error)
		io->engine = NULL;
	return error;
}

int io_open(struct io *io, const char *engine)
{
	/* Base pages, as the buffers of dd, fio and most programs are. A disk that takes a page a
	 * descriptor reads 2.5 times as fast into huge ones, and whether "default" gives those
	 * depends on the size of a block. */
	if (buffer_map(&io->pool, (size_t)(slot_bytes(io) * io->depth), "4k") < 0)
		return -ENOMEM;
	io->salt = mix(clock_ns() ^ (uint64_t)getpid() << 40);
	random_fill(io->pool.data, io->pool.size, io->salt);
	if (io->timed) {
		io->latencies = calloc(io->depth + 1, sizeof(*io->latencies));
		if (!io->latencies)
			return -ENOMEM;
	}
	return start_engine(io, engine);
}

void io_close(struct io *io)
{
	if (io->engine)
		io->engine->close(io);
	io->engine = NULL;
	free(io->latencies);
	io->latencies = NULL;
	buffer_unmap(&io->pool);
}

int io_run(struct io *io, uint64_t count)
{
	uint64_t first = io->next;

	io->next += count;
	return io->engine->run(io, first, io->next);
}

void io_latencies_clear(struct io *io)
{
	for (uint32_t i = 0; io->timed && i <= io->depth; i++)
		latencies_clear(&io->latencies[i]);
}

const struct latencies *io_latencies(struct io *io)
{
	struct latencies *all = &io->latencies[io->depth];

	latencies_clear(all);
	for (uint32_t i = 0; i < io->depth; i++)
		latencies_merge(all, &io->latencies[i]);
	return all;
}
