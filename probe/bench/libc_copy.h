/* memory.libc_copy as both programs know it: the probe describes it, the helper measures it. */
#ifndef BV_LIBC_COPY_H
#define BV_LIBC_COPY_H

#include "bench/memory.h"

#define LIBC_COPY_PARAMS                                                                   \
	{                                                                                  \
		{"size", PARAM_SIZE, "64M", 4096, 1ull << 30, NULL,                        \
		 "bytes in each buffer (a multiple of 4K is used)"},                       \
		SOURCE_PARAM,                                                              \
		{"pages", PARAM_CHOICE, "default", 0, 0, pages_choices, pages_summary},    \
		OBSERVE_PARAM("this process"),                                             \
		{0},                                                                       \
	}

#define LIBC_COPY_DESCRIPTION                                                              \
	.id = "memory.libc_copy",                                                          \
	.summary = "how fast the board's own C library copies memory (its memcpy)",        \
	.unit = "B/s", .better = "higher", .counted = "copied",                            \
	.method = "as memory.copy, but calls memcpy of the glibc that the board has, from a "     \
		  "dynamically linked helper; begin.libc_version names it",               \
	.pitfalls = "as memory.copy; glibc changes to stores that bypass the cache above a size "  \
		    "that it derives from the cache, so the curve may step there",         \
	.not_measured = "what programs that bring their own memcpy get; boards without glibc",     \
	.reference = "perf bench mem memcpy -f default (5.9 or later): within 5 %"

#endif
