/* The layout of a sub-buffer of the kernel's ring buffers, as events/header_page tells it. */
#ifndef BV_TRACE_PAGE_H
#define BV_TRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* An event of a sub-buffer, one after the other: page_first(), then page_next() until it is false.
 * What is damaged ends them. */
struct page_event {
	uint64_t time; /* on the trace's clock */
	const char *data;
	size_t length;
	bool at_loss; /* it is the first of its page, and events before it were lost */
	size_t next;  /* where the one behind it is */
};

void page_first(const struct page_layout *layout, const char *page, struct page_event *e);
bool page_next(const struct page_layout *layout, const char *page, struct page_event *e);

#endif
