/* Who is not told of frames takes for zeros only what nobody may have written and given back between
 * two looks: that is told by the process's page faults. */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "core/pages.c" /* what counts them is its own */
#include "tests/check.h"

enum { PAGES = 256 };

static uint64_t faults_as_told(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return (uint64_t)usage.ru_minflt;
}

/* The kernel gives them out twice: what stat says lies between two answers of getrusage(2). */
static void test_faults_are_counted(const char *name)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t least, faults, before;
	char *data;

	CHECK(prctl(PR_SET_NAME, name) == 0);
	least = faults_as_told();
	before = faults_of(getpid());
	CHECK(least <= before && before <= faults_as_told());
	data = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(data != MAP_FAILED && madvise(data, (size_t)(PAGES * page), MADV_NOHUGEPAGE) == 0);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)data)[i * page] = 1;
	faults = faults_of(getpid());
	CHECK(faults >= before + PAGES && faults <= faults_as_told());
	munmap(data, (size_t)(PAGES * page));
}

/* Ten pages are present, three are its own; each fault may have been a page written. */
static void test_each_fault_is_a_doubt(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct area less = {.rss = 2 * page}, more = {.rss = 3 * page};

	CHECK(zero_bytes(&less, &more, 10 * page, 0) == 7 * page);
	CHECK(zero_bytes(&more, &less, 10 * page, 0) == 7 * page);
	CHECK(zero_bytes(&less, &more, 10 * page, 5) == 2 * page);
	CHECK(zero_bytes(&less, &more, 10 * page, 7) == 0);
	CHECK(zero_bytes(&less, &more, 10 * page, 100) == 0);
	more.may_be_huge = true;
	CHECK(zero_bytes(&less, &more, 10 * page, 1) == 0);
}

int main(void)
{
	if (is_emulated())
		SKIP("the memory looked at would be the emulator's");
	test_faults_are_counted("plain");
	test_faults_are_counted("a) R 1 (b"); /* a name may hold anything */
	test_each_fault_is_a_doubt();
	return 0;
}
