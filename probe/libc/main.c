/* bvlibc: measures the board's own C library. Linked dynamically with glibc and otherwise made of
 * the probe's own parts, so that its samples carry the same evidence. Called by bvprobe with the
 * parameters of memory.libc_copy. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench/libc_copy.h"
#include "core/clock.h"

static int setup(struct run *run)
{
	run->state = calloc(1, sizeof(struct memory));
	if (!run->state)
		return json_error(1, ENOMEM, "memory.libc_copy: no memory");
	return memory_setup_buffers(run, run->state, true, true);
}

static int batch(struct run *run, uint64_t iterations)
{
	const struct memory *m = run->state;
	/* through a pointer, so that the compiler cannot put its own copy in place */
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++)
		copy(m->target.data, m->source.data, m->source.size);
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static void describe(const struct run *run, struct json *j)
{
	json_string(j, "libc", "glibc");
	json_string(j, "libc_version", gnu_get_libc_version());
	memory_describe_buffers(run, j);
}

static const struct param params[] = LIBC_COPY_PARAMS;

static const struct benchmark libc_copy = {
	LIBC_COPY_DESCRIPTION,
	.params = params,
	.setup = setup,
	.batch = batch,
	.value = memory_value,
	.describe = describe,
	.detail = memory_observe,
	.teardown = memory_teardown,
};

int main(int argc, char *argv[])
{
	signal(SIGPIPE, SIG_IGN);
	return batch_run(&libc_copy, argc - 1, argv + 1);
}
