/* The chain of memory.latency is one single cycle that meets every node of the buffer once, for
 * both orders and all strides; in the order `local` it stays in a group until it has met all of it;
 * and a walk follows it. So are the chain of memory.tlb, which meets a page once, at a line that
 * differs, and that of memory.line, which meets each place twice in a row, either half first. */
#include "bench/chase.h"
#include "tests/check.h"

static size_t index_of(const struct chase *c, void *node, size_t stride)
{
	size_t offset = (size_t)((char *)node - (char *)c->buffer.data);

	CHECK((char *)node >= (char *)c->buffer.data && offset < c->buffer.size);
	CHECK(offset % stride == 0);
	return offset / stride;
}

static void test(size_t size, size_t stride, size_t group)
{
	struct chase c = {0};
	size_t nodes = size / stride;
	size_t per_group = group / stride;
	bool *met;
	void **at;

	CHECK(buffer_map(&c.buffer, size, "default") == 0);
	memset(c.buffer.data, 0xff, size);
	CHECK(chase_link(&c, stride, group) == 0);
	met = calloc(nodes, sizeof(*met));
	CHECK(met != NULL);
	at = c.at;
	for (size_t i = 0; i < nodes; i++) {
		size_t n = index_of(&c, at, stride);
		CHECK(!met[n]);
		met[n] = true;
		at = *at;
		if ((i + 1) % per_group != 0)
			CHECK(index_of(&c, at, stride) / per_group == n / per_group);
	}
	CHECK(at == c.at); /* and back to where it began */

	chase_walk(&c, 3);
	for (int i = 0; i < 3 * CHASE_LOADS; i++)
		at = *at;
	CHECK(c.at == at);
	free(met);
	buffer_unmap(&c.buffer);
}

static void test_is_random(void)
{
	struct chase c = {0};
	size_t ahead = 0;

	CHECK(buffer_map(&c.buffer, 1 << 20, "default") == 0);
	CHECK(chase_link(&c, 64, 1 << 20) == 0);
	for (char *p = c.buffer.data; p < (char *)c.buffer.data + (1 << 20); p += 64)
		ahead += *(char **)p == p + 64;
	CHECK(ahead < 10); /* of 16384: 1 is expected of a shuffle */
	buffer_unmap(&c.buffer);
}

static void link_over(struct chase *c, size_t size, size_t stride)
{
	*c = (struct chase){0};
	CHECK(buffer_map(&c->buffer, size, "default") == 0);
	memset(c->buffer.data, 0xff, size);
	CHECK(chase_link(c, stride, size) == 0);
}

static void test_scattered(size_t size, size_t page)
{
	enum { LINE = 64, LINES = 65536 / LINE };
	struct chase c;
	size_t pages = size / page;
	bool *met = calloc(pages, sizeof(*met));
	size_t lines[LINES] = {0};
	void **at;

	CHECK(met != NULL);
	link_over(&c, size, page);
	chase_scatter(&c, page);
	at = c.at;
	for (size_t i = 0; i < pages; i++, at = *at) {
		size_t n = index_of(&c, at, LINE);
		CHECK(!met[n * LINE / page]);
		met[n * LINE / page] = true;
		lines[n % (page / LINE)]++;
	}
	CHECK(at == c.at);
	for (size_t i = 0; i < page / LINE; i++) /* evenly: none is met far too often */
		CHECK(lines[i] <= 2 + 4 * pages * LINE / page);
	free(met);
	buffer_unmap(&c.buffer);
}

static void test_split(size_t size, size_t stride, size_t offset)
{
	struct chase c;
	size_t places = size / stride, behind = 0;
	bool *met = calloc(places, sizeof(*met));
	char **at;

	CHECK(met != NULL);
	link_over(&c, size, stride);
	chase_split(&c, stride, offset);
	at = (char **)c.at;
	for (size_t i = 0; i < places; i++) {
		char **second = (char **)*at;
		size_t a = index_of(&c, at, 8) * 8, b = index_of(&c, second, 8) * 8;
		size_t low = a < b ? a : b;
		CHECK(low % stride == 0 && a + b == 2 * low + offset && !met[low / stride]);
		met[low / stride] = true;
		behind += b > a;
		at = (char **)*second;
	}
	CHECK((void **)at == c.at);
	CHECK(places < 100 || (behind > places / 3 && behind < places / 3 * 2));
	free(met);
	buffer_unmap(&c.buffer);
}

int main(void)
{
	static const size_t strides[] = {16, 64, 128, 4096};
	static const size_t sizes[] = {4096, 8192, 12288, 1 << 20};

	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			test(sizes[k], strides[i], sizes[k]);
		test(CHASE_GROUP, strides[i], CHASE_GROUP);
		test(2 * CHASE_GROUP, strides[i], CHASE_GROUP);
		test(17 * CHASE_GROUP, strides[i], CHASE_GROUP);
	}
	test_is_random();
	for (size_t page = 4096; page <= 65536; page *= 4) {
		test_scattered(page, page);
		test_scattered(256 * page, page);
	}
	for (size_t offset = 8; offset <= 1024; offset *= 2) {
		test_split(4096, 2048, offset);
		test_split(1 << 20, 2048, offset);
	}
	test_split(1 << 20, 2048, 24);
	return 0;
}
