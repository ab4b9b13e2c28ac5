/* memory.libc_copy: described here, measured by the helper bvlibc. */
#include "bench/libc_copy.h"

#include "bench/benchmarks.h"

static const struct param params[] = LIBC_COPY_PARAMS;

const struct benchmark memory_libc_copy = {
	LIBC_COPY_DESCRIPTION,
	.params = params,
	.helper = "bvlibc",
};
