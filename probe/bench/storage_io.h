/* Reading and writing blocks of a file, some at a time. */
#ifndef BV_STORAGE_IO_H
#define BV_STORAGE_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buffer.h"
#include "core/latencies.h"

/* The `engine` and `depth` parameters of benchmarks that keep several operations going. */
extern const char engine_choices[];
extern const char engine_summary[];
enum { DEPTH_MAX = 64, BLOCK_MAX = 16 << 20 };

struct io;

struct engine {
	const char *name;
	int (*open)(struct io *io);
	/* Operations from number `first` up to but without `end`. */
	int (*run)(struct io *io, uint64_t first, uint64_t end);
	void (*close)(struct io *io);
};

extern const struct engine engine_sync, engine_threads, engine_io_uring;

struct io {
	int fd;
	bool write;
	bool random;
	int (*flush)(int fd);   /* after each operation; NULL: none */
	uint64_t block, blocks; /* bytes of an operation; how many of them the area has */
	uint32_t depth;         /* operations at a time: each has a slot */
	uint64_t seed;
	uint64_t next;          /* number of the next operation */
	bool timed;             /* latencies are taken */
	struct latencies *latencies; /* one a slot */
	struct buffer pool;     /* data: random, each slot its part */
	uint64_t salt;          /* makes what is written by this process unlike any before */
	const struct engine *engine;
	char why[160];          /* another engine was taken than the first choice: why */
	void *own;              /* the engine's */
};

/* Makes buffers and starts the engine; `engine` is of engine_choices. Returns 0 or a negative
 * errno: of the engine asked for, -ENOMEM for the buffers. */
int io_open(struct io *io, const char *engine);
void io_close(struct io *io);

/* Does `count` operations and goes on where the last batch ended. Returns 0 or a negative errno;
 * -ENODATA when the file ended before the area did. */
int io_run(struct io *io, uint64_t count);

/* Forgets the latencies of the last batch, and adds up those of this one. */
void io_latencies_clear(struct io *io);
const struct latencies *io_latencies(struct io *io);

/* For engines: one whole operation; where it goes and what it moves. */
int io_one(struct io *io, uint32_t slot, uint64_t number);
uint64_t io_offset(const struct io *io, uint64_t number);
char *io_data(struct io *io, uint32_t slot, uint64_t number);

/* Position `number` of a row in which each of 0 to n - 1 stands once, in an order drawn from the
 * seed; then comes another order. */
uint64_t shuffled(uint64_t number, uint64_t n, uint64_t seed);

/* Fills with random bytes. */
void random_fill(void *data, uint64_t bytes, uint64_t seed);

#endif
