/* Kernels for 32-bit ARM. See kernels.h.
 *
 * The NEON loops are in every build for ARMv7 but used only where the kernel announces NEON: some
 * ARMv7 cores have none. ARMv6 has load and store multiple. */
#if defined(__arm__)
#include <sys/auxv.h>

#include "bench/kernels.h"

static void ldm_copy(void *to, const void *from, size_t size)
{
	__asm__ volatile(".p2align 5\n1:\n\t"
			 "pld [%1, #256]\n\t"
			 "ldmia %1!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
			 "stmia %0!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
			 "subs %2, %2, #32\n\tbne 1b"
			 : "+r"(to), "+r"(from), "+r"(size)
			 :
			 : "r3", "r4", "r5", "r6", "r8", "r10", "r12", "lr", "memory", "cc");
}

static void ldm_fill(void *to, size_t size)
{
	__asm__ volatile("mvn r3, #0\n\tmvn r4, #0\n\tmvn r5, #0\n\tmvn r6, #0\n\t"
			 ".p2align 5\n1:\n\t"
			 "stmia %0!, {r3, r4, r5, r6}\n\tstmia %0!, {r3, r4, r5, r6}\n\t"
			 "subs %1, %1, #32\n\tbne 1b"
			 : "+r"(to), "+r"(size)
			 :
			 : "r3", "r4", "r5", "r6", "memory", "cc");
}

static void ldm_read(const void *from, size_t size)
{
	__asm__ volatile(".p2align 5\n1:\n\t"
			 "pld [%0, #256]\n\t"
			 "ldmia %0!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
			 "subs %1, %1, #32\n\tbne 1b"
			 : "+r"(from), "+r"(size)
			 :
			 : "r3", "r4", "r5", "r6", "r8", "r10", "r12", "lr", "memory", "cc");
}

#if __ARM_ARCH >= 7
enum { HWCAP_NEON_BIT = 1 << 12 };

static bool has_neon(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_NEON_BIT) != 0;
}

static void neon_copy(void *to, const void *from, size_t size)
{
	__asm__ volatile(".fpu neon\n\t.p2align 5\n1:\n\t"
			 "pld [%1, #256]\n\t"
			 "vld1.64 {d0-d3}, [%1]!\n\tvld1.64 {d4-d7}, [%1]!\n\t"
			 "vst1.64 {d0-d3}, [%0]!\n\tvst1.64 {d4-d7}, [%0]!\n\t"
			 "subs %2, %2, #64\n\tbne 1b"
			 : "+r"(to), "+r"(from), "+r"(size)
			 :
			 : "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "memory", "cc");
}

static void neon_fill(void *to, size_t size)
{
	__asm__ volatile(".fpu neon\n\tvmov.i8 q0, #0x55\n\tvmov.i8 q1, #0x55\n\t"
			 ".p2align 5\n1:\n\t"
			 "vst1.64 {d0-d3}, [%0]!\n\tvst1.64 {d0-d3}, [%0]!\n\t"
			 "subs %1, %1, #64\n\tbne 1b"
			 : "+r"(to), "+r"(size)
			 :
			 : "d0", "d1", "d2", "d3", "memory", "cc");
}

static void neon_read(const void *from, size_t size)
{
	__asm__ volatile(".fpu neon\n\t.p2align 5\n1:\n\t"
			 "pld [%0, #256]\n\t"
			 "vld1.64 {d0-d3}, [%0]!\n\tvld1.64 {d4-d7}, [%0]!\n\t"
			 "subs %1, %1, #64\n\tbne 1b"
			 : "+r"(from), "+r"(size)
			 :
			 : "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "memory", "cc");
}
#endif

const struct kernel arch_kernels[] = {
#if __ARM_ARCH >= 7
	{"neon", "neon", has_neon, neon_copy, neon_fill, neon_read},
#endif
	{"ldm", "", NULL, ldm_copy, ldm_fill, ldm_read},
	{"words", "", NULL, words_copy, words_fill, words_read},
	{0},
};
#endif
