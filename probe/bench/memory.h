/* What the bandwidth benchmarks share, also with the helper that runs on the board's libc. */
#ifndef BV_MEMORY_H
#define BV_MEMORY_H

#include "core/batch.h"
#include "core/buffer.h"
#include "core/pages.h"

struct memory {
	struct buffer source, target;
	const struct kernel *kernel;
};

#define SOURCE_PARAM                                                                     \
	{"source", PARAM_CHOICE, "random", 0, 0, "random zero untouched",                \
	 "what the source holds: random bytes, written zeros, or untouched (never written: shows " \
	 "the zero-page artefact, and is not a bandwidth)"}

/* 0, or 77 after an error line when the board has no room for so many bytes: the probe must not
 * push it into swap or into the arms of the OOM killer. */
int memory_check_room(const char *id, uint64_t bytes);

/* Maps and writes the buffers as the parameters size, source and pages say. */
int memory_setup_buffers(struct run *run, struct memory *m, bool has_source, bool has_target);
double memory_value(const struct run *run);
void memory_describe_buffers(const struct run *run, struct json *j);
void memory_observe(const struct run *run, struct json *j); /* as the parameter observe says */
void memory_teardown(struct run *run);

#endif
