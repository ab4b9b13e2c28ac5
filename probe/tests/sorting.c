/* Rows of any size come in order, and each of them is there as often as before. */
/* By another name: sanitizers put their own in the place of qsort(3). */
#define qsort sort_of_the_probe

#include <string.h>

#include "core/sort.c"
#include "core/buffer.h"
#include "tests/check.h"

enum { MOST = 700, WIDEST = 24, KEYS = 50 };

static unsigned char rows[MOST * WIDEST];

static int by_key(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

/* Each row is its key, and the same byte all along: a row that is torn apart shows. */
static void test(size_t count, size_t size, uint64_t *seed)
{
	size_t before[KEYS] = {0}, after[KEYS] = {0};

	for (size_t row = 0; row < count; row++) {
		unsigned char key = (unsigned char)(random_next(seed) % KEYS);
		memset(rows + row * size, key, size);
		before[key]++;
	}
	qsort(rows, count, size, by_key);
	for (size_t row = 0; row < count; row++) {
		const unsigned char *one = rows + row * size;
		for (size_t at = 1; at < size; at++)
			CHECK(one[at] == one[0]);
		CHECK(row == 0 || one[0] >= one[-(ptrdiff_t)size]);
		after[one[0]]++;
	}
	CHECK(memcmp(before, after, sizeof(before)) == 0);
}

int main(void)
{
	uint64_t seed = 7;

	for (size_t size = 1; size <= WIDEST; size++) {
		for (size_t count = 0; count < 20; count++)
			test(count, size, &seed);
		test(MOST, size, &seed);
	}
	return 0;
}
