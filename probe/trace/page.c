/* The layout of a sub-buffer. See page.h. */
#include "trace/page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Flags in the commit word (include/linux/ring_buffer.h and kernel/trace/ring_buffer.c). */
enum { COUNT_STORED = 30, COMMITTED = 0x7ffffff };

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

size_t page_trim(const struct page_layout *layout, char *page)
{
	uint64_t wide;
	uint32_t word;
	size_t used, end;

	memcpy(&wide, page + layout->commit, sizeof(wide));
	memcpy(&word, page + layout->commit, sizeof(word));
	if (layout->commit_size == 8)
		word = (uint32_t)wide; /* the flags are in its low half, whatever the byte order */
	used = word & COMMITTED;
	end = layout->data + used + (word >> COUNT_STORED & 1 ? layout->commit_size : 0);
	if (end < layout->size)
		memset(page + end, 0, layout->size - end);
	return used;
}
