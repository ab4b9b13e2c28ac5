/* The head of a trace.dat: each option leads to a section of its id, the data lie where BUFFER says
 * and on whole pages, a CPU without data is left out, and the length is that of the whole. */
#include "trace/datfile.h"
#include "tests/check.h"

struct walk {
	const struct bytes *head;
	uint64_t sections[32]; /* offset by id */
	int stats;
	size_t buffer; /* where its option's data begin */
};

static uint64_t number(const struct bytes *b, uint64_t at, size_t size)
{
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	CHECK(at + size <= b->length);
	memcpy(&half, b->data + at, sizeof(half));
	memcpy(&word, b->data + at, size < 4 ? 0 : sizeof(word));
	memcpy(&wide, b->data + at, size < 8 ? 0 : sizeof(wide));
	return size == 8 ? wide : size == 4 ? word : half;
}

static void look_at_options(struct walk *w, uint64_t at)
{
	uint64_t end = at + 16 + number(w->head, at + 8, 8);

	CHECK(number(w->head, at, 2) == 0);
	for (at += 16; at < end;) {
		unsigned id = (unsigned)number(w->head, at, 2);
		uint64_t size = number(w->head, at + 2, 4);
		at += 6;
		if (id == 0) {
			CHECK(size == 8 && number(w->head, at, 8) == 0);
			CHECK(at + size == end);
			return;
		}
		if (id >= 16)
			w->sections[id] = number(w->head, at, 8);
		w->stats += id == 2;
		if (id == 3)
			w->buffer = (size_t)at;
		at += size;
	}
	CHECK(!"the options have no end");
}

static void look_at_buffer(const struct walk *w, uint64_t whole)
{
	const char *text = w->head->data + w->buffer + 8;
	size_t at = w->buffer + 8 + 1 + strlen("mono") + 1;
	uint64_t first;

	CHECK(text[0] == '\0');
	CHECK_TEXT(text + 1, "mono");
	CHECK(number(w->head, number(w->head, w->buffer, 8), 2) == 3);
	CHECK(number(w->head, at, 4) == 8192);
	CHECK(number(w->head, at + 4, 4) == 2);
	CHECK(number(w->head, at + 8, 4) == 0);
	first = number(w->head, at + 12, 8);
	CHECK(first == w->head->length && first % 8192 == 0);
	CHECK(number(w->head, at + 20, 8) == 8192);
	CHECK(number(w->head, at + 28, 4) == 5);
	CHECK(number(w->head, at + 32, 8) == first + 8192);
	CHECK(number(w->head, at + 40, 8) == 16384);
	CHECK(whole == first + 8192 + 16384);
}

int main(void)
{
	static const struct dat_cpu cpus[] = {
		{0, 8192, "entries: 0\n"}, {1, 0, "entries: 0\n"}, {5, 16384, "entries: 0\n"}};
	static const unsigned char begin[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g', '7', 0};
	struct bytes head = {0};
	struct dat dat = {.clock = "mono",
			  .clock_text = "local [mono]",
			  .offset_ns = -5,
			  .page_size = 4096,
			  .subbuffer_size = 8192,
			  .cpu_count = 6,
			  .cpus = cpus,
			  .count = 3};
	struct walk w = {.head = &head};
	uint64_t whole;

	bytes_text(&dat.header_page, "page");
	bytes_text(&dat.header_event, "event");
	bytes_u32(&dat.ftrace_formats, 0);
	bytes_u32(&dat.formats, 0);
	bytes_text(&dat.cmdlines, "1 init");
	whole = dat_head(&dat, &head);
	CHECK(memcmp(head.data, begin, sizeof(begin)) == 0);
	CHECK(head.data[13] == (char)sizeof(long) && number(&head, 14, 4) == 4096);
	look_at_options(&w, number(&head, 24, 8));
	for (unsigned id = 16; id <= 21; id++) {
		if (id == 19)
			CHECK(w.sections[id] == 0); /* there are no kallsyms */
		else
			CHECK(number(&head, w.sections[id], 2) == id);
	}
	CHECK(w.stats == 3);
	look_at_buffer(&w, whole);
	CHECK(dat_padding(&dat, 8192) == 0 && dat_padding(&dat, 4096) == 4096);
	bytes_free(&dat.header_page);
	bytes_free(&dat.header_event);
	bytes_free(&dat.ftrace_formats);
	bytes_free(&dat.formats);
	bytes_free(&dat.cmdlines);
	bytes_free(&head);
	return 0;
}
