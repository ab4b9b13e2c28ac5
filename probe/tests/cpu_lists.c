/* Lists of CPUs as /sys writes them. */
#include "core/files.h"
#include "tests/check.h"

static char seen[1024];

static void note(int cpu, void *context)
{
	char *end = seen + strlen(seen);

	CHECK(context == &seen);
	snprintf(end, sizeof(seen) - (size_t)(end - seen), "%d ", cpu);
}

static const char *cpus(const char *list, int count)
{
	seen[0] = '\0';
	CHECK(for_each_cpu(list, note, &seen) == count);
	return seen;
}

int main(void)
{
	CHECK_TEXT(cpus("", 0), "");
	CHECK_TEXT(cpus("0", 1), "0 ");
	CHECK_TEXT(cpus("0-3", 4), "0 1 2 3 ");
	CHECK_TEXT(cpus("0-1,4,6-7", 5), "0 1 4 6 7 ");
	CHECK_TEXT(cpus("0,128", 2), "0 128 ");
	CHECK_TEXT(cpus("nonsense", 0), "");
	CHECK_TEXT(cpus("3-1", 0), "");
	CHECK(for_each_cpu("0-999999999", note, &seen) == 4096); /* bounded */
	return 0;
}
