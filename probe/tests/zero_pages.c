/* Memory that was read and never written is told from memory of one's own, in small pages and in
 * huge ones, here and in other processes. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/pages.h"
#include "tests/check.h"

enum { MIB = 1 << 20, SIZE = 32 * MIB };

/* Sanitizers read their own shadow of what is looked at, which is zero pages too. */
enum { SLACK = 6 * MIB };

static volatile char sink;

static char *map(int protection, int flags)
{
	char *data = mmap(NULL, SIZE, protection, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(data != MAP_FAILED);
	return data;
}

static void look_through(const char *data)
{
	for (size_t i = 0; i < SIZE; i += 4096)
		sink = data[i];
}

static uint64_t zeros_of(pid_t pid)
{
	struct pages first = {0}, pages = {0};
	int error = pages_of(pid, &first) ?: pages_of(pid, &pages); /* see pages_describe_own */

	if (error == -ENOENT)
		SKIP("this kernel has no pagemap");
	CHECK(error == 0);
	CHECK(pages.rss_bytes > 0);
	return pages.zero_bytes;
}

/* Who is not told of frames gets a lower bound: see pages.h. */
static bool is_about(uint64_t before, uint64_t now, uint64_t more)
{
	bool is_least = geteuid() != 0 && now <= before + more;

	return (is_least || now + SLACK >= before + more) && now <= before + more + SLACK;
}

static void test_small_pages(void)
{
	uint64_t before = zeros_of(0);
	char *data = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	madvise(data, SIZE, MADV_NOHUGEPAGE);
	CHECK(is_about(before, zeros_of(0), 0)); /* not even looked at */
	look_through(data);
	CHECK(is_about(before, zeros_of(0), SIZE));
	memset(data, 0, SIZE / 2);
	CHECK(is_about(before, zeros_of(0), SIZE / 2)); /* zeros that were written are one's own */
	memset(data, 1, SIZE);
	CHECK(is_about(before, zeros_of(0), 0));
	munmap(data, SIZE);
}

static void test_huge_pages(void)
{
	uint64_t before = zeros_of(0);
	char *data = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	if (madvise(data, SIZE, MADV_HUGEPAGE) == 0) { /* granted or not, the sum is the same */
		look_through(data);
		CHECK(is_about(before, zeros_of(0), SIZE));
		memset(data, 1, SIZE);
		CHECK(is_about(before, zeros_of(0), 0));
	}
	munmap(data, SIZE);
}

/* Shared memory and files have no page of zeros, and what may not be read cannot have been. */
static void test_other_memory(void)
{
	uint64_t before = zeros_of(0);
	char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED);
	char *closed = map(PROT_NONE, MAP_PRIVATE);

	look_through(shared);
	CHECK(is_about(before, zeros_of(0), 0));
	munmap(shared, SIZE);
	munmap(closed, SIZE);
}

/* Of three who each looked through as much; who is told of frames is told all of it. */
static bool is_family(uint64_t zero_bytes)
{
	return zero_bytes + (geteuid() != 0 ? 3 * SLACK : 0) >= 3 * (uint64_t)SIZE;
}

/* Three generations that look through memory and wait to be killed. */
static void become_family(int ready)
{
	for (int level = 0; level < 2 && fork() == 0; level++)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	look_through(map(PROT_READ, MAP_PRIVATE));
	CHECK(write(ready, "x", 1) == 1);
	for (;;)
		pause();
}

static void test_descendants(void)
{
	struct pages_watch watch;
	struct pages pages;
	uint64_t begin = clock_ns();
	int ends[2];
	pid_t child;
	char bytes[3];

	CHECK(pipe(ends) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		become_family(ends[1]);
	}
	for (size_t got = 0; got < sizeof(bytes); got++)
		CHECK(read(ends[0], bytes, 1) == 1);
	CHECK(pages_of_tree(child, &pages) == 3);
	CHECK(is_family(pages.zero_bytes) && pages.rss_bytes > 0);

	pages_watch_begin(&watch, begin);
	watch.next_ns = begin;
	pages_watch_look(&watch, child);
	CHECK(watch.looks == 1 && is_family(watch.most.zero_bytes));
	CHECK(watch.next_ns > clock_ns());
	pages_watch_look(&watch, child);
	CHECK(watch.looks == 1); /* it is too early */

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(pages_of_tree(child, &pages) < 0);
}

int main(void)
{
	if (is_emulated())
		SKIP("the memory looked at would be the emulator's");
	test_small_pages();
	test_huge_pages();
	test_other_memory();
	test_descendants();
	return 0;
}
