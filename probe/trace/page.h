/* The layout of a sub-buffer of the kernel's ring buffers, as events/header_page tells it. */
#ifndef BV_TRACE_PAGE_H
#define BV_TRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct page_layout {
	size_t commit, commit_size; /* how much of it is in use; its size is that of a kernel long */
	size_t data;                /* where events begin */
	size_t size;                /* of the whole */
};

/* False when the text does not say it, or says what cannot be. */
bool page_parse(const char *header_page, struct page_layout *layout);

/* Bytes of events in a sub-buffer. Clears what lies behind them, and behind the count of lost
 * events where one is there: it is left over from before and not to be read. */
size_t page_trim(const struct page_layout *layout, char *page);

#endif
