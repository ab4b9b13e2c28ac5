/* Kernels for x86-64. See kernels.h. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

#include "bench/kernels.h"

static bool os_saves(uint32_t state)
{
	uint32_t a, b, c, d, low, high;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return false;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & state) == state;
}

static uint32_t leaf7_ebx(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
}

static bool has_avx(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	return (c & bit_AVX) && os_saves(0x6);
}

static bool has_avx512(void)
{
	return (leaf7_ebx() & bit_AVX512F) && os_saves(0xe6);
}

static bool has_movsb(void)
{
	return (leaf7_ebx() & (1u << 9)) != 0;
}

#define COPY_LOOP(name, load, store, w, r, step, end)						\
	static void name(void *to, const void *from, size_t size)				\
	{											\
		__asm__ volatile(								\
			".p2align 5\n1:\n\t"							\
			load " 0*" w "(%1), %%" r "0\n\t" load " 1*" w "(%1), %%" r "1\n\t"	\
			load " 2*" w "(%1), %%" r "2\n\t" load " 3*" w "(%1), %%" r "3\n\t"	\
			store " %%" r "0, 0*" w "(%0)\n\t" store " %%" r "1, 1*" w "(%0)\n\t"	\
			store " %%" r "2, 2*" w "(%0)\n\t" store " %%" r "3, 3*" w "(%0)\n\t"	\
			"add $" step ", %1\n\tadd $" step ", %0\n\t"				\
			"sub $" step ", %2\n\tjnz 1b\n\t" end					\
			: "+r"(to), "+r"(from), "+r"(size)					\
			:									\
			: "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc");			\
	}

#define FILL_LOOP(name, set, store, w, r, step, end)						\
	static void name(void *to, size_t size)							\
	{											\
		__asm__ volatile(								\
			set "\n\t.p2align 5\n1:\n\t"						\
			store " %%" r "0, 0*" w "(%0)\n\t" store " %%" r "0, 1*" w "(%0)\n\t"	\
			store " %%" r "0, 2*" w "(%0)\n\t" store " %%" r "0, 3*" w "(%0)\n\t"	\
			"add $" step ", %0\n\tsub $" step ", %1\n\tjnz 1b\n\t" end		\
			: "+r"(to), "+r"(size)							\
			:									\
			: "xmm0", "memory", "cc");						\
	}

#define READ_LOOP(name, load, w, r, step, end)							\
	static void name(const void *from, size_t size)						\
	{											\
		__asm__ volatile(								\
			".p2align 5\n1:\n\t"							\
			load " 0*" w "(%0), %%" r "0\n\t" load " 1*" w "(%0), %%" r "1\n\t"	\
			load " 2*" w "(%0), %%" r "2\n\t" load " 3*" w "(%0), %%" r "3\n\t"	\
			"add $" step ", %0\n\tsub $" step ", %1\n\tjnz 1b\n\t" end		\
			: "+r"(from), "+r"(size)						\
			:									\
			: "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc");			\
	}

COPY_LOOP(sse2_copy, "movdqa", "movdqa", "16", "xmm", "64", "")
FILL_LOOP(sse2_fill, "pcmpeqd %%xmm0, %%xmm0", "movdqa", "16", "xmm", "64", "")
READ_LOOP(sse2_read, "movdqa", "16", "xmm", "64", "")

COPY_LOOP(avx_copy, "vmovdqa", "vmovdqa", "32", "ymm", "128", "vzeroupper")
FILL_LOOP(avx_fill, "vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0",
	  "vmovdqa", "32", "ymm", "128", "vzeroupper")
READ_LOOP(avx_read, "vmovdqa", "32", "ymm", "128", "vzeroupper")

COPY_LOOP(avx512_copy, "vmovdqa64", "vmovdqa64", "64", "zmm", "256", "vzeroupper")
FILL_LOOP(avx512_fill, "vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0", "vmovdqa64", "64", "zmm", "256",
	  "vzeroupper")
READ_LOOP(avx512_read, "vmovdqa64", "64", "zmm", "256", "vzeroupper")

COPY_LOOP(nt_copy, "movdqa", "movntdq", "16", "xmm", "64", "sfence")
FILL_LOOP(nt_fill, "pcmpeqd %%xmm0, %%xmm0", "movntdq", "16", "xmm", "64", "sfence")

static void movsb_copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void movsb_fill(void *to, size_t size)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(0x55) : "memory");
}

const struct kernel arch_kernels[] = {
	{"avx", "avx", has_avx, avx_copy, avx_fill, avx_read},
	{"sse2", "sse2", NULL, sse2_copy, sse2_fill, sse2_read},
	{"avx512", "avx512f", has_avx512, avx512_copy, avx512_fill, avx512_read},
	{"movsb", "erms", has_movsb, movsb_copy, movsb_fill, NULL},
	{"nt", "sse2", NULL, nt_copy, nt_fill, NULL},
	{"words", "", NULL, words_copy, words_fill, words_read},
	{0},
};
#endif
