/* The layout of a sub-buffer. See page.h. */
#include "trace/page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Flags in the commit word (include/linux/ring_buffer.h and kernel/trace/ring_buffer.c). */
enum { COUNT_STORED = 30, MISSED = 31, COMMITTED = 0x7ffffff };

/* Kinds of entries (include/linux/ring_buffer.h); smaller ones are events of that many words. */
enum { PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };

enum { SIZE_MAX_BYTES = 1 << 20 };

static bool field(const char *text, const char *name, size_t *offset, size_t *size)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), " offset:%zu; size:%zu;", offset, size) == 2;
}

bool page_parse(const char *header_page, struct page_layout *layout)
{
	size_t data;

	if (!field(header_page, " commit;", &layout->commit, &layout->commit_size) ||
	    !field(header_page, " data;", &layout->data, &data))
		return false;
	layout->size = layout->data + data;
	return (layout->commit_size == 4 || layout->commit_size == 8) && data > 0 &&
	       layout->size <= SIZE_MAX_BYTES &&
	       layout->commit + layout->commit_size <= layout->data;
}

static uint32_t commit_word(const struct page_layout *layout, const char *page)
{
	uint64_t wide;
	uint32_t word;

	memcpy(&wide, page + layout->commit, sizeof(wide));
	memcpy(&word, page + layout->commit, sizeof(word));
	/* of a long one the flags are in its low half, whatever the byte order */
	return layout->commit_size == 8 ? (uint32_t)wide : word;
}

size_t page_trim(const struct page_layout *layout, char *page)
{
	uint32_t word = commit_word(layout, page);
	size_t used, end;

	used = word & COMMITTED;
	end = layout->data + used + (word >> COUNT_STORED & 1 ? layout->commit_size : 0);
	if (end < layout->size)
		memset(page + end, 0, layout->size - end);
	return used;
}

void page_first(const struct page_layout *layout, const char *page, struct page_event *e)
{
	*e = (struct page_event){.next = layout->data};
	memcpy(&e->time, page, sizeof(e->time)); /* the time stamp stands first in all kernels */
	e->at_loss = commit_word(layout, page) >> MISSED & 1;
}

static bool is_little(void)
{
	uint16_t one = 1;
	char first;

	memcpy(&first, &one, 1);
	return first;
}

bool page_next(const struct page_layout *layout, const char *page, struct page_event *e)
{
	size_t end = layout->data + (commit_word(layout, page) & COMMITTED);

	if (e->length)
		e->at_loss = false;
	if (end > layout->size)
		return false;
	for (;;) {
		size_t at = e->next;
		uint32_t head, word = 0;
		unsigned kind;
		uint64_t delta;

		if (at + sizeof(head) > end)
			return false;
		memcpy(&head, page + at, sizeof(head));
		/* bit fields: the kind lies where the machine puts the first of them */
		kind = is_little() ? head & 31 : head >> 27;
		delta = is_little() ? head >> 5 : head & 0x7ffffff;
		at += sizeof(head);
		if (kind == 0 || kind >= PADDING) {
			if (at + sizeof(word) > end)
				return false;
			memcpy(&word, page + at, sizeof(word));
		}
		if (kind == PADDING) {
			if (delta == 0 || word > end - at)
				return false;
			e->time += delta;
			e->next = at + word;
		} else if (kind == TIME_EXTEND) {
			e->time += delta + ((uint64_t)word << 27);
			e->next = at + sizeof(word);
		} else if (kind == TIME_STAMP) {
			/* its five highest bits are those of the page */
			e->time = (e->time & 0xf800000000000000u) | ((uint64_t)word << 27) | delta;
			e->next = at + sizeof(word);
		} else {
			size_t length = kind ? 4 * (size_t)kind : (size_t)word;
			if (length > end - at || (kind == 0 && length < sizeof(word)))
				return false;
			e->time += delta;
			e->data = page + at + (kind ? 0 : sizeof(word));
			e->length = length - (kind ? 0 : sizeof(word));
			e->next = at + length;
			return true;
		}
	}
}
