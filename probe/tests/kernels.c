/* Every kernel that this CPU can execute copies, fills or reads all bytes it is given and touches
 * nothing outside. Says which kernels were tested. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "bench/kernels.h"
#include "tests/check.h"

enum { ALIGNMENT = 256, SLACK = ALIGNMENT };

static size_t page;

/* Memory between two pages that cannot be touched. */
static unsigned char *guarded(size_t size)
{
	unsigned char *p = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK(mprotect(p, page, PROT_NONE) == 0);
	CHECK(mprotect(p + page + size, page, PROT_NONE) == 0);
	return p + page;
}

static void mark(unsigned char *p, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245u + 12345u;
		p[i] = (unsigned char)(seed >> 16);
	}
}

static bool is_marked(const unsigned char *p, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245u + 12345u;
		if (p[i] != (unsigned char)(seed >> 16))
			return false;
	}
	return true;
}

static bool is_all(const unsigned char *p, size_t size, unsigned char byte)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/* At the beginning, in the middle and at the end of room, so that both the marks around it and the
 * pages beyond see a byte too many. */
static void test_at(const struct kernel *k, size_t size, unsigned char *source,
		    unsigned char *target, size_t room, size_t offset)
{
	enum { BACKGROUND = 0xa5 };
	unsigned char *to = target + offset;
	unsigned char *from = source + (room - size - offset);

	if (k->copy) {
		memset(target, BACKGROUND, room);
		mark(from, size, 7);
		k->copy(to, from, size);
		CHECK(is_marked(to, size, 7) && is_marked(from, size, 7));
		CHECK(is_all(target, offset, BACKGROUND));
		CHECK(is_all(to + size, room - size - offset, BACKGROUND));
	}
	if (k->fill) {
		memset(target, BACKGROUND, room);
		k->fill(to, size);
		CHECK(to[0] != BACKGROUND && is_all(to, size, to[0]));
		CHECK(is_all(target, offset, BACKGROUND));
		CHECK(is_all(to + size, room - size - offset, BACKGROUND));
	}
	if (k->read) {
		mark(target, room, 9);
		k->read(to, size);
		CHECK(is_marked(target, room, 9));
	}
}

static sigjmp_buf after_fault;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(after_fault, 1);
}

static bool faults(const struct kernel *k, const unsigned char *data, size_t size)
{
	if (sigsetjmp(after_fault, 1) != 0)
		return true;
	k->read(data, size);
	return false;
}

/* Reading leaves no trace, but a page that cannot be read must be missed. */
static void test_reads_all_pages(const struct kernel *k, unsigned char *data, size_t size)
{
	for (size_t at = 0; at < size; at += page) {
		CHECK(mprotect(data + at, page, PROT_NONE) == 0);
		CHECK(faults(k, data, size));
		CHECK(mprotect(data + at, page, PROT_READ | PROT_WRITE) == 0);
	}
	CHECK(!faults(k, data, size));
}

static void test(const struct kernel *k)
{
	static const size_t sizes[] = {256, 512, 1024, 4096, 65536 + 256};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t room = (sizes[i] + 2 * SLACK + page - 1) / page * page;
		unsigned char *source = guarded(room);
		unsigned char *target = guarded(room);
		test_at(k, sizes[i], source, target, room, 0);
		test_at(k, sizes[i], source, target, room, SLACK);
		test_at(k, sizes[i], source, target, room, room - sizes[i]);
		munmap(source - page, room + 2 * page);
		munmap(target - page, room + 2 * page);
	}
	if (k->read) {
		unsigned char *data = guarded(4 * page);
		test_reads_all_pages(k, data, 4 * page);
		munmap(data - page, 6 * page);
	}
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_fault};
	const char *why;

	page = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGSEGV, &action, NULL);
	for (const struct kernel *k = arch_kernels; k->name; k++) {
		if (k->usable && !k->usable())
			continue;
		test(k);
		printf("%s ", k->name);
	}
	puts("");

	for (int loop = KERNEL_COPY; loop <= KERNEL_READ; loop++) {
		CHECK(kernel_find("auto", (enum kernel_loop)loop, &why) != NULL);
		CHECK(kernel_find("words", (enum kernel_loop)loop, &why) != NULL);
		CHECK(kernel_find("none such", (enum kernel_loop)loop, &why) == NULL);
		CHECK(strlen(why) > 10);
	}
	return 0;
}
