/* A histogram of times. See histogram.h. */
#include "core/histogram.h"

#include <string.h>

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/* Times below 2^(BITS + 1) are their own index. Above, the leading BITS + 1 bits of a time say which
 * bucket of its octave it is in, and each octave goes on where the one below ended. */
unsigned histogram_index(uint64_t ns)
{
	int shift;

	if (ns >> HISTOGRAM_OCTAVES)
		return HISTOGRAM_BUCKETS - 1;
	if (ns >> (HISTOGRAM_BITS + 1) == 0)
		return (unsigned)ns;
	shift = 63 - __builtin_clzll(ns) - HISTOGRAM_BITS;
	return ((unsigned)shift << HISTOGRAM_BITS) + (unsigned)(ns >> shift);
}

uint64_t histogram_floor(unsigned index)
{
	int shift = (int)(index >> HISTOGRAM_BITS) - 1;

	if (shift <= 0)
		return index;
	return (uint64_t)(index - ((unsigned)shift << HISTOGRAM_BITS)) << shift;
}

void histogram_record(struct histogram *h, uint64_t ns)
{
	h->buckets[histogram_index(ns)]++;
	h->count++;
	if (ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
}

double histogram_percentile(const struct histogram *h, double percent)
{
	double rank = percent / 100 * (double)h->count;
	double below = 0, ns = 0;

	if (h->count == 0)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double here = h->buckets[i];
		if (here == 0)
			continue;
		if (below + here >= rank) {
			double low = (double)histogram_floor(i);
			double width = (double)histogram_floor(i + 1) - low;
			ns = low + width * (rank > below ? (rank - below) / here : 0);
			break;
		}
		below += here;
	}
	if (ns < (double)h->min)
		return (double)h->min;
	return ns < (double)h->max ? ns : (double)h->max;
}

void histogram_describe(const struct histogram *h, struct json *j, const char *key)
{
	json_open(j, key, '{');
	json_unsigned(j, "count", h->count);
	if (h->count) {
		json_unsigned(j, "min", h->min);
		json_unsigned(j, "max", h->max);
	}
	json_open(j, "buckets", '[');
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (h->buckets[i] == 0)
			continue;
		json_unsigned(j, NULL, i);
		json_unsigned(j, NULL, h->buckets[i]);
	}
	json_close(j, ']');
	json_close(j, '}');
}
