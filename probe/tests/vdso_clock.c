/* The function that is found in the vDSO reads the clock, and what is not there is not found. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "core/vdso.h"
#include "tests/check.h"

static int64_t ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	static const char *const names[] = {"__vdso_clock_gettime64", "__kernel_clock_gettime",
					    "__vdso_clock_gettime"};
	int (*read_clock)(clockid_t, struct timespec *) = NULL;
	struct timespec before, between, after;
	void *found = NULL;

	CHECK(!vdso_function("__vdso_no_such_function") && !vdso_function(""));
	/* 32-bit kernels before 5.6 have only one for a smaller timespec */
	for (size_t i = 0; i < (sizeof(long) == 4 ? 1 : 3) && !found; i++)
		found = vdso_function(names[i]);
	if (!found)
		SKIP("no vDSO here that reads clocks");
	memcpy(&read_clock, &found, sizeof(read_clock));
	for (int i = 0; i < 1000; i++) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
		CHECK(read_clock(CLOCK_MONOTONIC, &between) == 0);
		CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
		CHECK(ns(before) <= ns(between) && ns(between) <= ns(after));
	}
	return 0;
}
