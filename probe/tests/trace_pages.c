/* The layout of sub-buffers is the kernel's word; what lies behind the committed bytes is cleared,
 * the count of lost events behind them is not. */
#include "trace/page.h"
#include "tests/check.h"

#include <stdint.h>

static const char wide[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
static const char narrow[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			     "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			     "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";

static void layouts(void)
{
	struct page_layout l;

	CHECK(page_parse(wide, &l));
	CHECK(l.commit == 8 && l.commit_size == 8 && l.data == 16 && l.size == 4096);
	CHECK(page_parse(narrow, &l));
	CHECK(l.commit == 8 && l.commit_size == 4 && l.data == 12 && l.size == 4096);
	CHECK(!page_parse("", &l));
	CHECK(!page_parse("field: local_t commit;\toffset:8;\tsize:8;", &l));
	CHECK(!page_parse("commit;\toffset:8;\tsize:8; char data;\toffset:16;\tsize:0;", &l));
	CHECK(!page_parse(" commit;\toffset:8;\tsize:2; data;\toffset:16;\tsize:4080;", &l));
	CHECK(!page_parse(" commit;\toffset:90;\tsize:8; data;\toffset:16;\tsize:4080;", &l));
	CHECK(!page_parse(" commit;\toffset:8;\tsize:8; data;\toffset:16;\tsize:99999999;", &l));
}

/* The first byte that is zero, from which on all are. */
static size_t zero_from(const char *page, size_t size)
{
	while (size > 0 && page[size - 1] == 0)
		size--;
	return size;
}

static void trimmed(const char *header, uint64_t commit, size_t used, size_t kept)
{
	struct page_layout l;
	char page[4096];
	uint32_t word = (uint32_t)commit;

	CHECK(page_parse(header, &l));
	memset(page, 'x', sizeof(page));
	if (l.commit_size == 8)
		memcpy(page + l.commit, &commit, sizeof(commit));
	else
		memcpy(page + l.commit, &word, sizeof(word));
	CHECK(page_trim(&l, page) == used);
	CHECK(zero_from(page, sizeof(page)) == kept);
}

int main(void)
{
	enum { MISSED = 1u << 31, COUNTED = 1u << 30 };

	layouts();
	trimmed(wide, 100, 100, 116);
	trimmed(wide, 4080, 4080, 4096);
	trimmed(wide, 100 | (uint64_t)(uint32_t)MISSED, 100, 116);
	trimmed(wide, 100 | (uint64_t)(uint32_t)MISSED | COUNTED, 100, 124);
	trimmed(narrow, 100, 100, 112);
	trimmed(narrow, 100 | (uint64_t)(uint32_t)MISSED | COUNTED, 100, 116);
	trimmed(wide, 1 << 20, 1 << 20, 4096); /* what cannot be is not believed */
	return 0;
}
