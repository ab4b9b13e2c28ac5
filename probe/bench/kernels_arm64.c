/* Kernels for AArch64. See kernels.h. */
#if defined(__aarch64__)
#include <stdint.h>

#include "bench/kernels.h"

#define COPY_LOOP(name, load, store)                                                             \
	static void name(void *to, const void *from, size_t size)                                \
	{                                                                                        \
		__asm__ volatile(".p2align 5\n1:\n\t"                                            \
				 load " q0, q1, [%1]\n\t" load " q2, q3, [%1, #32]\n\t"          \
				 store " q0, q1, [%0]\n\t" store " q2, q3, [%0, #32]\n\t"        \
				 "add %1, %1, #64\n\tadd %0, %0, #64\n\t"                        \
				 "subs %2, %2, #64\n\tb.ne 1b"                                   \
				 : "+r"(to), "+r"(from), "+r"(size)                              \
				 :                                                               \
				 : "v0", "v1", "v2", "v3", "memory", "cc");                      \
	}

#define FILL_LOOP(name, store)                                                                   \
	static void name(void *to, size_t size)                                                  \
	{                                                                                        \
		__asm__ volatile("movi v0.16b, #0x55\n\t.p2align 5\n1:\n\t"                      \
				 store " q0, q0, [%0]\n\t" store " q0, q0, [%0, #32]\n\t"        \
				 "add %0, %0, #64\n\tsubs %1, %1, #64\n\tb.ne 1b"                \
				 : "+r"(to), "+r"(size)                                          \
				 :                                                               \
				 : "v0", "memory", "cc");                                        \
	}

COPY_LOOP(neon_copy, "ldp", "stp")
COPY_LOOP(nt_copy, "ldnp", "stnp")
FILL_LOOP(neon_fill, "stp")
FILL_LOOP(nt_fill, "stnp")

static void neon_read(const void *from, size_t size)
{
	__asm__ volatile(".p2align 5\n1:\n\t"
			 "ldp q0, q1, [%0]\n\tldp q2, q3, [%0, #32]\n\t"
			 "add %0, %0, #64\n\tsubs %1, %1, #64\n\tb.ne 1b"
			 : "+r"(from), "+r"(size)
			 :
			 : "v0", "v1", "v2", "v3", "memory", "cc");
}

static uint64_t zero_block(void)
{
	uint64_t dczid;

	__asm__("mrs %0, dczid_el0" : "=r"(dczid));
	return dczid & 16 ? 0 : 4u << (dczid & 15);
}

static bool has_zva(void)
{
	uint64_t block = zero_block();

	return block >= 16 && block <= 256;
}

static void zva_fill(void *to, size_t size)
{
	uint64_t block = zero_block();

	__asm__ volatile("1: dc zva, %0\n\tadd %0, %0, %2\n\tsubs %1, %1, %2\n\tb.ne 1b"
			 : "+r"(to), "+r"(size)
			 : "r"(block)
			 : "memory", "cc");
}

const struct kernel arch_kernels[] = {
	{"neon", "asimd", NULL, neon_copy, neon_fill, neon_read},
	{"neon_nt", "asimd", NULL, nt_copy, nt_fill, NULL},
	{"zva", "dc zva", has_zva, NULL, zva_fill, NULL},
	{"words", "", NULL, words_copy, words_fill, words_read},
	{0},
};
#endif
