/* Kernels for RISC-V. See kernels.h. */
#if defined(__riscv)
#include <sys/auxv.h>

#include "bench/kernels.h"

#define VECTOR(code) ".option push\n\t.option arch, +v\n\t" code "\n\t.option pop"

/* The kernel announces each single-letter extension by its bit in AT_HWCAP. Vendors' kernels do so
 * for the draft 0.7.1 too, on which this vector type is none and gives no elements. */
static bool has_vector(void)
{
	size_t n;

	if (!(getauxval(AT_HWCAP) & (1ul << ('v' - 'a'))))
		return false;
	__asm__ volatile(VECTOR("vsetvli %0, zero, e8, m8, ta, ma") : "=r"(n));
	return n > 0;
}

static void rvv_copy(void *to, const void *from, size_t size)
{
	size_t n;

	__asm__ volatile(VECTOR("1: vsetvli %3, %2, e8, m8, ta, ma\n\t"
				"vle8.v v0, (%1)\n\tvse8.v v0, (%0)\n\t"
				"add %1, %1, %3\n\tadd %0, %0, %3\n\tsub %2, %2, %3\n\tbnez %2, 1b")
			 : "+r"(to), "+r"(from), "+r"(size), "=&r"(n)
			 :
			 : "memory");
}

static void rvv_fill(void *to, size_t size)
{
	size_t n;

	__asm__ volatile(VECTOR("vsetvli %2, zero, e8, m8, ta, ma\n\tvmv.v.i v0, 5\n"
				"1: vsetvli %2, %1, e8, m8, ta, ma\n\tvse8.v v0, (%0)\n\t"
				"add %0, %0, %2\n\tsub %1, %1, %2\n\tbnez %1, 1b")
			 : "+r"(to), "+r"(size), "=&r"(n)
			 :
			 : "memory");
}

static void rvv_read(const void *from, size_t size)
{
	size_t n;

	__asm__ volatile(VECTOR("1: vsetvli %2, %1, e8, m8, ta, ma\n\tvle8.v v0, (%0)\n\t"
				"add %0, %0, %2\n\tsub %1, %1, %2\n\tbnez %1, 1b")
			 : "+r"(from), "+r"(size), "=&r"(n)
			 :
			 : "memory");
}

const struct kernel arch_kernels[] = {
	{"rvv", "v", has_vector, rvv_copy, rvv_fill, rvv_read},
	{"words", "", NULL, words_copy, words_fill, words_read},
	{0},
};
#endif
