/* The order of random accesses: each block once before any comes again, every pass another order,
 * the same for the same seed, and spread over the area. */
#include "bench/storage_io.h"
#include "tests/check.h"

enum { MOST = 40000 };

static unsigned char seen[MOST];

static void test(uint64_t n, uint64_t seed)
{
	uint64_t same = 0, near = 0;
	double low_half = 0;

	for (uint64_t pass = 0; pass < 3; pass++) {
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < n; i++) {
			uint64_t at = shuffled(pass * n + i, n, seed);
			CHECK(at < n);
			CHECK(!seen[at]);
			seen[at] = 1;
			CHECK(at == shuffled(pass * n + i, n, seed));
			same += at == shuffled((pass + 1) * n + i, n, seed);
			if (i > 0) {
				uint64_t before = shuffled(pass * n + i - 1, n, seed);
				near += at - before + 1 <= 2;
			}
			if (i < n / 4)
				low_half += at < n / 2;
		}
	}
	if (n < 1000)
		return;
	CHECK(same < n / 20);  /* 3 are expected */
	CHECK(near < n / 20);  /* neighbours in succession: 6 are expected */
	CHECK(low_half > 0.42 * 3 * (double)(n / 4)); /* any stretch goes everywhere */
	CHECK(low_half < 0.58 * 3 * (double)(n / 4));
}

int main(void)
{
	static const uint64_t counts[] = {1, 2, 3, 5, 8, 100, 1000, 1024, 4097, 16384, MOST};

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (uint64_t seed = 0; seed < (is_emulated() ? 1 : 4); seed++)
			test(counts[i], seed);
	/* an area of 16 TiB in blocks of 512 bytes */
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(shuffled(i, 1ull << 35, 1) < 1ull << 35);
	return 0;
}
