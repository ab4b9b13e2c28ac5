/* Choosing a kernel, and the portable one. See kernels.h. */
#include "bench/kernels.h"

#include <stdio.h>
#include <string.h>

const char kernel_choices[] = "auto words sse2 avx avx512 movsb nt neon neon_nt zva ldm rvv";
const char kernel_summary[] =
	"instructions that move the data; auto: the widest ordinary loads and stores that do not "
	"slow the CPU's clock (begin.kernel says which; avx512 only when asked for); nt, neon_nt: "
	"stores past the cache; zva: zeroes whole lines; movsb: rep movsb; words: machine words";

static bool has_loop(const struct kernel *k, enum kernel_loop loop)
{
	return loop == KERNEL_COPY ? k->copy != NULL : loop == KERNEL_FILL ? k->fill != NULL
									   : k->read != NULL;
}

const struct kernel *kernel_find(const char *name, enum kernel_loop loop, const char **why)
{
	static char reason[96];
	bool automatic = strcmp(name, "auto") == 0;

	for (const struct kernel *k = arch_kernels; k->name; k++) {
		bool usable = has_loop(k, loop) && (!k->usable || k->usable());
		if (automatic && usable)
			return k;
		if (automatic || strcmp(name, k->name) != 0)
			continue;
		if (usable)
			return k;
		snprintf(reason, sizeof(reason),
			 has_loop(k, loop) ? "this CPU has no %s" : "%s is not for this benchmark",
			 has_loop(k, loop) ? k->needs : name);
		*why = reason;
		return NULL;
	}
	*why = "this architecture has no such kernel";
	return NULL;
}

void kernels_describe_features(struct json *j)
{
	for (const struct kernel *k = arch_kernels; k->name; k++)
		if (k->usable && k->usable())
			json_string(j, NULL, k->needs);
}

/* The empty asm statements keep the compiler from turning the loops into calls of the C library
 * or into vector code. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define EIGHT(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)

void words_copy(void *to, const void *from, size_t size)
{
	unsigned long *t = to;
	const unsigned long *f = from;

	for (size_t n = size / (8 * sizeof(*t)); n > 0; n--, t += 8, f += 8) {
#define COPY(i) { unsigned long w = f[i]; OPAQUE(w); t[i] = w; }
		EIGHT(COPY)
	}
	__asm__ volatile("" ::: "memory");
}

void words_fill(void *to, size_t size)
{
	unsigned long *t = to;
	unsigned long w = ~0ul / 3;

	for (size_t n = size / (8 * sizeof(*t)); n > 0; n--, t += 8) {
#define FILL(i) { OPAQUE(w); t[i] = w; }
		EIGHT(FILL)
	}
	__asm__ volatile("" ::: "memory");
}

void words_read(const void *from, size_t size)
{
	const unsigned long *f = from;

	for (size_t n = size / (8 * sizeof(*f)); n > 0; n--, f += 8) {
#define READ(i) { unsigned long w = f[i]; OPAQUE(w); }
		EIGHT(READ)
	}
}
