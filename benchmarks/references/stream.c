/* The loops that STREAM made customary, in plain C as a compiler sees them: one copies, one adds
 * up what it reads, and the triad runs on all CPUs that OpenMP is given. Prints the median bandwidth
 * of `loops` passes over arrays of `bytes`, counted as STREAM does: bytes read plus bytes written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double sum(const uint64_t *a, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += a[i];
	return (double)total;
}

static double copy_or_read(int copies, size_t bytes, int loops, double *times)
{
	size_t n = bytes / sizeof(uint64_t);
	uint64_t *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes);
	volatile double sink = 0;

	if (!a || !b)
		exit(1);
	for (size_t i = 0; i < n; i++) {
		a[i] = i * 0x9e3779b97f4a7c15u;
		b[i] = 1;
	}
	for (int loop = 0; loop <= loops; loop++) {
		double begin = seconds();
		if (copies)
			for (size_t i = 0; i < n; i++)
				b[i] = a[i];
		else
			sink += sum(a, n);
		times[loop] = seconds() - begin;
		sink += (double)b[loop];
	}
	return copies ? 2 : 1;
}

static double triad(size_t bytes, int loops, double *times)
{
	size_t n = bytes / sizeof(double);
	double *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes);
	double *c = aligned_alloc(64, bytes);

	if (!a || !b || !c)
		exit(1);
#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		a[i] = 0;
		b[i] = 1;
		c[i] = 2;
	}
	for (int loop = 0; loop <= loops; loop++) {
		double begin = seconds();
#pragma omp parallel for
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + 3 * c[i];
		times[loop] = seconds() - begin;
	}
	return a[n / 2] == 7 ? 3 : 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc == 4 ? argv[1] : "";

	if (strcmp(what, "copy") && strcmp(what, "read") && strcmp(what, "triad")) {
		fprintf(stderr, "usage: stream copy|read|triad bytes loops\n");
		return 2;
	}
	size_t bytes = strtoull(argv[2], NULL, 10);
	int loops = atoi(argv[3]);
	double *times = calloc((size_t)loops + 1, sizeof(*times));
	double arrays;

	if (!times)
		return 1;
	if (strcmp(what, "triad") == 0)
		arrays = triad(bytes, loops, times);
	else
		arrays = copy_or_read(strcmp(what, "copy") == 0, bytes, loops, times);
	/* the first pass is dropped, as in STREAM */
	qsort(times + 1, (size_t)loops, sizeof(*times), ascending);
	printf("%.9g\n", (double)bytes * arrays / times[(loops + 1) / 2]);
	return 0;
}
