/* Memory whose pages are known: what they hold, how big they are, and what was granted. */
#ifndef BV_BUFFER_H
#define BV_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/param.h"

/* The `pages` parameter of every benchmark on memory. */
extern const char pages_choices[];
extern const char pages_summary[];

struct buffer {
	void *data; /* NULL: not mapped */
	size_t size;
	size_t mapped; /* bytes from data on: size, rounded up */
};

/* Maps size bytes, 2 MiB aligned (a huge page's size where `pages` is huge), with huge pages asked
 * for, forbidden or left to the system. Nothing is touched yet. Returns 0 or a negative errno. */
int buffer_map(struct buffer *b, size_t size, const char *pages);
void buffer_unmap(struct buffer *b);

/* Bytes of memory that such a buffer takes once it is written: a board whose huge pages are large
 * gives a small buffer more than it asked for. */
uint64_t buffer_footprint(size_t size, const char *pages);

/* Writes every byte: random (incompressible) or zero. */
void buffer_write_random(struct buffer *b);
void buffer_write_zero(struct buffer *b);

/* Bytes of the buffer that the kernel backs with huge pages, from /proc/self/smaps; a negative
 * errno when that cannot be read. The huge zero page does not count: the kernel hides it. */
int64_t buffer_huge_bytes(const struct buffer *b);

/* What must be said of a buffer that was to have huge pages, or NULL when it has. */
const char *buffer_huge_caveat(const struct buffer *b);

/* Adds {"name": …, "bytes": …, "huge_bytes": …} to an array. */
void buffer_describe(const struct buffer *b, const char *name, struct json *j);

/* Bytes of memory that can be had without swapping, or a negative errno. */
int64_t memory_available(void);

/* xorshift64*: fast and good enough to defeat compression and prefetchers (Vigna, 2016). */
uint64_t random_next(uint64_t *state);

#endif
