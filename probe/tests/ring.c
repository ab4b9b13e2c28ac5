/* The ring of os.context_switch_grid has as many processes as asked for, each goes through all of
 * its memory, and a ring that has lost one says so; none is left behind. */
#include <signal.h>
#include <sys/wait.h>

#include "bench/ring.h"
#include "tests/check.h"

static void test_passes(unsigned processes, size_t size, bool random)
{
	struct ring r = {.processes = processes, .size = size, .random = random};
	unsigned started;

	CHECK(ring_start(&r, &started) == 0);
	CHECK(started == processes);
	for (unsigned i = 1; i < processes; i++)
		CHECK(kill(r.children[i], 0) == 0);
	for (uint64_t rounds = 1; rounds < 20; rounds += 6)
		CHECK(ring_pass(&r, rounds));
	CHECK(ring_overhead(&r, 10) > 0);
	CHECK(ring_pass(&r, 1)); /* the token of that did not get into the ring */
	ring_stop(&r);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

static void test_loss(unsigned processes, unsigned victim)
{
	struct ring r = {.processes = processes};
	unsigned started;

	CHECK(ring_start(&r, &started) == 0);
	CHECK(kill(r.children[victim], SIGKILL) == 0);
	CHECK(waitpid(r.children[victim], NULL, 0) == r.children[victim]);
	r.children[victim] = 0;
	CHECK(!ring_pass(&r, 1));
	ring_stop(&r);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

/* A process that is told of more than there are sees the count fall short. */
static void test_count(void)
{
	struct ring r = {.processes = 3};
	unsigned started;

	CHECK(ring_start(&r, &started) == 0);
	r.processes = 4;
	CHECK(!ring_pass(&r, 5));
	r.processes = 3;
	CHECK(ring_pass(&r, 5));
	ring_stop(&r);
}

static void test_reads_all(void)
{
	enum { WORDS = 3000 };
	static unsigned long memory[WORDS];

	for (int i = 0; i < WORDS; i++)
		memory[i] = 1ul << (i % 8);
	CHECK(ring_read(memory, sizeof(memory)) == WORDS / 8 * 255);
	CHECK(ring_read(memory, 0) == 0);
	CHECK(ring_read(memory, 3 * sizeof(*memory)) == 7);
}

static void test_meets_every_line(void)
{
	enum { SIZE = 8192 };
	struct chase c = {0};
	bool met[SIZE / RING_LINE] = {false};

	CHECK(buffer_map(&c.buffer, SIZE, "4k") == 0);
	CHECK(chase_link(&c, RING_LINE, SIZE) == 0);
	CHECK(ring_chase(c.at, SIZE) == c.at);
	for (void **at = ring_chase(c.at, RING_LINE); at != c.at; at = ring_chase(at, RING_LINE)) {
		size_t line = (size_t)((char *)at - (char *)c.buffer.data) / RING_LINE;
		CHECK(!met[line]);
		met[line] = true;
	}
	for (size_t i = 1; i < SIZE / RING_LINE; i++)
		CHECK(met[i]);
	buffer_unmap(&c.buffer);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN); /* as the probe does */
	test_passes(2, 0, false);
	test_passes(3, 1000, false);
	test_passes(17, 65536, false);
	test_passes(5, 64, true);
	test_passes(5, 12288, true);
	test_passes(96, 0, false);
	test_loss(2, 1);
	test_loss(9, 1);
	test_loss(9, 4);
	test_loss(9, 8);
	test_count();
	test_reads_all();
	test_meets_every_line();
	return 0;
}
