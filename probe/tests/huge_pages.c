/* Huge pages are counted as those of the buffer that has them, not of its neighbour. */
#include "core/buffer.h"
#include "tests/check.h"

enum { MIB = 1 << 20 };

int main(void)
{
	struct buffer plain = {0}, huge = {0};
	int64_t granted;

	CHECK(buffer_map(&plain, 8 * MIB, "4k") == 0 && buffer_map(&huge, 8 * MIB, "huge") == 0);
	memset(plain.data, 1, plain.size);
	memset(huge.data, 1, huge.size);
	granted = buffer_huge_bytes(&huge);
	if (granted <= 0)
		SKIP("this system grants no huge pages");
	CHECK(granted % (2 * MIB) == 0 && granted <= 8 * MIB);
	CHECK(buffer_huge_bytes(&plain) == 0);
	CHECK((buffer_huge_caveat(&huge) == NULL) == (granted == 8 * MIB));
	CHECK(buffer_huge_caveat(&plain) != NULL);
	buffer_unmap(&plain);
	buffer_unmap(&huge);
	return 0;
}
