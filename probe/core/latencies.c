/* Many durations as a histogram. See latencies.h. */
#include "core/latencies.h"

#include <string.h>

enum { SUBS = 1 << LATENCY_BITS, BUCKETS = LATENCY_RANGES << LATENCY_BITS };

/* Up to 63 ns each value has a bucket of its own; beyond, the highest bits are the bucket. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned shift, bucket;

	if (ns < SUBS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - LATENCY_BITS;
	bucket = (shift + 1) * SUBS + (unsigned)(ns >> shift) - SUBS;
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned bucket)
{
	unsigned shift = bucket / SUBS;

	if (shift-- == 0)
		return bucket;
	return (((uint64_t)(SUBS + bucket % SUBS)) << shift) + ((1ull << shift) - 1) / 2;
}

void latencies_clear(struct latencies *l)
{
	memset(l, 0, sizeof(*l));
}

void latencies_add(struct latencies *l, uint64_t ns)
{
	l->buckets[bucket_of(ns)]++;
	l->count++;
	if (ns > l->max_ns)
		l->max_ns = ns;
}

void latencies_merge(struct latencies *into, const struct latencies *from)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->count += from->count;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
}

uint64_t latencies_percentile(const struct latencies *l, unsigned per_mille)
{
	uint64_t rank = (l->count * per_mille + 999) / 1000;
	uint64_t seen = 0;

	if (rank == 0)
		rank = 1;
	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += l->buckets[i];
		if (seen >= rank && l->buckets[i]) {
			uint64_t ns = value_of(i);
			return ns < l->max_ns ? ns : l->max_ns;
		}
	}
	return l->max_ns;
}

void latencies_describe(const struct latencies *l, struct json *j, const char *key,
			unsigned per_mille)
{
	if (l->count * (1000 - per_mille) < 1000)
		json_na(j, key, "too few operations in this batch: it would be the longest of all");
	else
		json_unsigned(j, key, latencies_percentile(l, per_mille));
}
