/* Many durations, kept as a histogram with buckets of constant relative width. */
#ifndef BV_LATENCIES_H
#define BV_LATENCIES_H

#include <stdint.h>

#include "core/json.h"

/* Each range is a power of two, cut into 64 buckets: a value is known to 1/64 of itself, up to
 * 2^41 ns (37 minutes). */
enum { LATENCY_BITS = 6, LATENCY_RANGES = 36 };

struct latencies {
	uint64_t count, max_ns;
	uint32_t buckets[LATENCY_RANGES << LATENCY_BITS];
};

void latencies_clear(struct latencies *l);
void latencies_add(struct latencies *l, uint64_t ns);
void latencies_merge(struct latencies *into, const struct latencies *from);

/* The least duration that so many per mille of all do not exceed (nearest rank), within 1/128 of
 * the true one; 0 when there are none. */
uint64_t latencies_percentile(const struct latencies *l, unsigned per_mille);

/* Adds the percentile; na where fewer than one of all is above it, so that it would only be
 * another name for the longest. */
void latencies_describe(const struct latencies *l, struct json *j, const char *key,
			unsigned per_mille);

#endif
