/* A buffer is aligned, has its bytes and nothing of its neighbours'. */
#include <stdint.h>
#include <sys/mman.h>

#include "core/buffer.h"
#include "tests/check.h"

enum { MIB = 1 << 20 };

static void test_bytes(const char *pages, size_t size)
{
	struct buffer a = {0}, b = {0};

	CHECK(buffer_map(&a, size, pages) == 0 && buffer_map(&b, size, pages) == 0);
	CHECK((uintptr_t)a.data % (2 * MIB) == 0 && (uintptr_t)b.data % (2 * MIB) == 0);
	CHECK(a.size == size && a.mapped >= size && a.mapped == buffer_footprint(size, pages));
	memset(a.data, 1, a.mapped);
	memset(b.data, 2, b.mapped);
	buffer_write_zero(&a);
	CHECK(*(char *)b.data == 2 && ((char *)b.data)[b.mapped - 1] == 2);
	CHECK(((char *)a.data)[0] == 0 && ((char *)a.data)[size - 1] == 0);
	buffer_write_random(&a);
	CHECK(memcmp(a.data, (char *)a.data + size / 2, size / 2) != 0);
	buffer_unmap(&a);
	buffer_unmap(&b);
	buffer_unmap(&b);
}

int main(void)
{
	test_bytes("default", 4096);
	test_bytes("default", 4 * MIB);
	test_bytes("4k", 3 * MIB);
	test_bytes("huge", 3 * MIB);
	return 0;
}
