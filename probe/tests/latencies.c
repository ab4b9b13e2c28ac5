/* Percentiles of a histogram are those of the sorted values, within the width of a bucket. */
#include "core/buffer.h"
#include "core/latencies.h"
#include "tests/check.h"

enum { MOST = 20000 };

static uint64_t values[MOST];
static struct latencies all, half;

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank: the smallest value that so many per mille of all do not exceed. */
static uint64_t exact(unsigned n, unsigned per_mille)
{
	uint64_t rank = ((uint64_t)n * per_mille + 999) / 1000;

	return values[rank ? rank - 1 : 0];
}

/* Values of up to so many bits, each length as often as the others. */
static void draw(unsigned n, unsigned bits, uint64_t seed)
{
	for (unsigned i = 0; i < n; i++)
		values[i] = random_next(&seed) >> (64 - 1 - random_next(&seed) % bits);
}

static void test(unsigned n, unsigned bits)
{
	latencies_clear(&all);
	latencies_clear(&half);
	for (unsigned i = 0; i < n; i++)
		latencies_add(i % 2 ? &all : &half, values[i]);
	latencies_merge(&all, &half);
	qsort(values, n, sizeof(values[0]), by_size);
	CHECK(all.count == n);
	CHECK(all.max_ns == values[n - 1]);
	CHECK(latencies_percentile(&all, 1000) <= values[n - 1]);
	for (unsigned per_mille = 0; per_mille <= 1000; per_mille++) {
		double wanted = (double)exact(n, per_mille);
		double is = (double)latencies_percentile(&all, per_mille);
		CHECK(is >= wanted * (1 - 1.0 / 128) - 1);
		CHECK(is <= wanted * (1 + 1.0 / 128) + 1);
		CHECK(bits > 6 || is == wanted); /* small ones are kept as they are */
	}
}

static const char *described(unsigned n, unsigned per_mille)
{
	static struct json j;
	static struct latencies l;

	latencies_clear(&l);
	for (unsigned i = 0; i < n; i++)
		latencies_add(&l, 5);
	json_begin(&j, "x");
	latencies_describe(&l, &j, "p", per_mille);
	return j.text;
}

int main(void)
{
	static const unsigned counts[] = {1, 2, 3, 10, 999, 1000, 1001, MOST};
	unsigned step = is_emulated() ? 13 : 1;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (unsigned bits = 1; bits <= 40; bits += step) {
			draw(counts[i], bits, 1000 * i + bits + 1);
			test(counts[i], bits);
		}
	}
	/* nothing, and more than the last bucket holds */
	latencies_clear(&all);
	CHECK(latencies_percentile(&all, 500) == 0);
	latencies_add(&all, UINT64_MAX);
	latencies_add(&all, 0);
	CHECK(all.max_ns == UINT64_MAX);
	CHECK(latencies_percentile(&all, 500) == 0);
	CHECK(latencies_percentile(&all, 1000) > 1ull << 40);

	CHECK(strstr(described(999, 999), "\"na\"") != NULL);
	CHECK(strstr(described(1000, 999), "\"p\":5") != NULL);
	CHECK(strstr(described(99, 990), "\"na\"") != NULL);
	CHECK(strstr(described(100, 990), "\"p\":5") != NULL);
	CHECK(strstr(described(2, 500), "\"p\":5") != NULL);
	CHECK(strstr(described(1, 500), "\"na\"") != NULL);
	return 0;
}
