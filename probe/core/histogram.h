/* A histogram of times in buckets whose width grows with the time: 1 ns up to 128 ns, then 64 to
 * each octave, so that a bucket is never wider than 1/64 of what lies in it. Bounded in memory and
 * in JSON, whatever is recorded, and made to be merged: the host adds those of all batches up. */
#ifndef BV_HISTOGRAM_H
#define BV_HISTOGRAM_H

#include "core/json.h"

enum {
	HISTOGRAM_BITS = 6,    /* 2^6 buckets to an octave */
	HISTOGRAM_OCTAVES = 40, /* up to 2^40 ns, 18 minutes; the last bucket takes what is longer */
	HISTOGRAM_BUCKETS = (HISTOGRAM_OCTAVES - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS,
};

struct histogram {
	uint64_t count;
	uint64_t min, max; /* exact; of no meaning when count is 0 */
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

/* Also touches all of it, so that recording takes no page fault. */
void histogram_clear(struct histogram *h);

void histogram_record(struct histogram *h, uint64_t ns);

/* The time that `percent` of all do not exceed, in ns; interpolated within its bucket, so that it is
 * off by less than a bucket's width. Of an empty histogram: 0. */
double histogram_percentile(const struct histogram *h, double percent);

/* Adds "key": {"count", "min", "max", "buckets": [index, count, index, count, ...]}; without min and
 * max when empty. Only buckets that hold something are listed. */
void histogram_describe(const struct histogram *h, struct json *j, const char *key);

/* Bucket `index` holds the times from histogram_floor(index) to just below that of the next. */
unsigned histogram_index(uint64_t ns);
uint64_t histogram_floor(unsigned index);

#endif
