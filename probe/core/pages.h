/* What the memory of processes is made of: seen from outside, while they run. */
#ifndef BV_PAGES_H
#define BV_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/json.h"

/* Of a process, or the sums over several. */
struct pages {
	uint64_t zero_bytes;      /* read and never written: mapped to the kernel's page of zeros */
	uint64_t rss_bytes;       /* pages of their own */
	uint64_t anon_huge_bytes; /* of those, in huge pages */
};

/* Adds what one process has, 0 for this one: 0 or a negative errno.
 *
 * Root is told which frame each page lies in, and the kernel's page of zeros, small or huge, is one
 * frame for all. For others a page of zeros is one that is present for the CPU (pagemap) but not
 * counted as the process's (Rss of smaps); as nothing stops the process between these looks, what
 * it may have written and given back meanwhile is taken off, so that the figure is exact once a
 * program has touched its memory, and never too large. Only private memory without a file is
 * looked at. */
int pages_of(pid_t pid, struct pages *pages);

/* The same for a process and all its descendants, as far as they can be looked at. Returns how many
 * were, or a negative errno when none was. */
int pages_of_tree(pid_t root, struct pages *pages);

/* The largest values of a few readings of a process tree while it runs. */
struct pages_watch {
	struct pages most;
	unsigned looks;
	int error;         /* of the last look that saw nothing */
	uint64_t next_ns;  /* when to look again, by clock_ns() */
	uint64_t pause_ns;
};

void pages_watch_begin(struct pages_watch *watch, uint64_t now_ns);

/* Looks, unless it is too early: soon at first, then ever more rarely, and never for more than a
 * fifth of the time. */
void pages_watch_look(struct pages_watch *watch, pid_t root);

/* Adds "zero_page_bytes", "rss_bytes", "anon_huge_bytes" and "looks" to a sample's detail. */
void pages_watch_describe(const struct pages_watch *watch, struct json *j);

/* The same of this process, now. */
void pages_describe_own(struct json *j);

/* A line for the table of parameters. */
#define OBSERVE_PARAM(whose)                                                                  \
	{"observe", PARAM_CHOICE, "nothing", 0, 0, "nothing pages",                           \
	 "pages: read what the memory of " whose " is made of, for the metrics "              \
	 "zero_page_bytes (read and never written), rss_bytes and anon_huge_bytes; reading "  \
	 "disturbs, so do not compare times that were taken with it"}

#endif
