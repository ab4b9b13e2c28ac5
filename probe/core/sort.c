/* qsort(3) in a tenth of the bytes of the one in the C library, glob(3)'s use of it included. What is
 * sorted here are some thousand rows at most, none of them while something is timed.
 *
 * Heapsort: J. W. J. Williams, Communications of the ACM 7 (1964) 347, algorithm 232. */
#include <stddef.h>
#include <stdlib.h>

static void swap(char *a, char *b, size_t size)
{
	while (size-- > 0) {
		char kept = a[size];
		a[size] = b[size];
		b[size] = kept;
	}
}

/* Lets what is at the root sink until no child is larger. */
static void sink(char *rows, size_t root, size_t count, size_t size,
                 int (*compare)(const void *, const void *))
{
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count &&
		    compare(rows + child * size, rows + (child + 1) * size) < 0)
			child++;
		if (compare(rows + root * size, rows + child * size) >= 0)
			return;
		swap(rows + root * size, rows + child * size, size);
	}
}

void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	char *rows = base;

	for (size_t root = count / 2; root-- > 0;)
		sink(rows, root, count, size, compare);
	while (count-- > 1) {
		swap(rows, rows + count * size, size);
		sink(rows, 0, count, size, compare);
	}
}
