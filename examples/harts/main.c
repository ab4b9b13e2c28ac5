/*
 * A boot program for several RISC-V harts: one of them, the boot hart, readies the memory and then
 * calls the others one by one. README.md says what is wrong with it, and in which form.
 */

#include <stddef.h>
#include <stdint.h>

#include "harts.h"

#define SECTION(name) __attribute__((section(name)))
#define KEEP __attribute__((used))
#define BY_ITSELF __attribute__((noinline))

/* Given from outside, as straps or fuses are on a chip: part of the image. */
struct parameters {
	uint32_t boot_hart;
	uint32_t harts; /* as many as there are */
	/* Durations, in ticks of the timer. */
	uint32_t early;		   /* of the boot hart's work before it clears .bss */
	uint32_t init;		   /* of its work from there until it calls the first hart */
	uint32_t patience;	   /* that called harts have to say that they are up */
	uint32_t held[MOST_HARTS]; /* by which a hart comes out of reset late */
};

/* What happened, for whoever reads it from outside. Nothing here decides anything. */
struct evidence {
	uint32_t looks[MOST_HARTS]; /* how often the hart has looked at the wake flag */
	uint32_t left[MOST_HARTS];  /* the hart has found its number there, and waits no more */
	uint32_t looked_before;	    /* bits: harts that had looked before .bss was cleared */
	uint32_t looked_between;    /* bits: harts that did between then and the first call */
	uint32_t left_early;	    /* bits: harts that had left before the first call */
	uint32_t up;		    /* bits: harts that work */
	uint64_t cause[MOST_HARTS]; /* mcause and mtval of a hart that trapped */
	uint64_t value[MOST_HARTS];
};

_Static_assert(offsetof(struct parameters, held) == PARAMETERS_HELD, "see harts.h");
_Static_assert(offsetof(struct evidence, left) == EVIDENCE_LEFT, "see harts.h");
_Static_assert(offsetof(struct evidence, cause) == EVIDENCE_CAUSE, "see harts.h");
_Static_assert(offsetof(struct evidence, value) == EVIDENCE_VALUE, "see harts.h");

KEEP SECTION(".parameters") volatile struct parameters parameters = { .harts = 1 };
KEEP SECTION(".parameters") volatile struct evidence evidence = { 0 };

/* Where the wake flag lies, and what it holds at first, is what this program is about. */
#if FORM == FAULTY || FORM == DOUBTED
KEEP volatile uint32_t wake_flag; /* .bss: anything at power-on, 0 once it is cleared */
#elif FORM == REPAIRED
KEEP SECTION(".noinit") volatile uint32_t wake_flag; /* anything, and nobody clears it */
#elif FORM == INITIALISED
KEEP volatile uint32_t wake_flag = NOBODY; /* .data: comes with the image */
#elif FORM == COPIED
/* .data too, but in a program that runs from flash: anything until the boot hart has copied it */
KEEP SECTION(".copied") volatile uint32_t wake_flag = NOBODY;
#else
#error "FORM is none of those in harts.h"
#endif

KEEP volatile uint32_t boot_flag;
KEEP volatile uint64_t next_stack;
KEEP SECTION(".noinit") volatile uint8_t stacks[MOST_HARTS][STACK_BYTES];

extern uint64_t bss_begin[], bss_end[];
extern uint64_t copied_begin[], copied_end[], copied_source[];

static uint64_t now(void)
{
	return *(volatile uint64_t *)MTIME;
}

static void print(const char *text)
{
	volatile uint8_t *const uart = (volatile uint8_t *)0x10000000; /* a 16550 */

	for (; *text != '\0'; text++) {
		while ((uart[5] & 0x20) == 0)
			;
		uart[0] = (uint8_t)*text;
	}
}

static void print_number(uint32_t number)
{
	char digit[2] = { (char)('0' + number % 10), '\0' };

	if (number >= 10)
		print_number(number / 10);
	print(digit);
}

static uint32_t bits(uint32_t word)
{
	uint32_t count = 0;

	for (; word != 0; word &= word - 1)
		count++;
	return count;
}

/* Computes for so many ticks since a time; the timer is far away, so it is not asked often. */
static void work(uint64_t begin, uint32_t ticks)
{
	while (now() - begin < ticks)
		for (uint32_t i = 0; i < 1000; i++)
			__asm__ volatile("");
}

/*
 * What a boot hart does before it has memory in order, on real chips: here it fills the stacks of
 * the others with a pattern, by which their use can be read later, and waits for its clock.
 */
BY_ITSELF static void early_platform_init(uint32_t own)
{
	const uint64_t begin = now();

	for (uint32_t hart = 0; hart < parameters.harts; hart++)
		for (uint32_t i = 0; hart != own && i < STACK_BYTES; i++)
			stacks[hart][i] = 0xaa;
	work(begin, parameters.early);
}

/* The rest of an operating system's start, from the clearing of .bss to the first call. */
BY_ITSELF static void kernel_init(void)
{
	work(now(), parameters.init);
}

BY_ITSELF static void copy_data(void)
{
	for (uint32_t i = 0; &copied_begin[i] < copied_end; i++)
		((volatile uint64_t *)copied_begin)[i] = copied_source[i];
}

BY_ITSELF static void clear_bss(void)
{
	for (volatile uint64_t *word = bss_begin; word < bss_end; word++)
		*word = 0;
}

/* Which harts have looked at the wake flag, so many times more than they had then. */
static uint32_t who_looked(const uint32_t *then, uint32_t times)
{
	uint32_t harts = 0;

	for (uint32_t hart = 0; hart < parameters.harts; hart++)
		if (evidence.looks[hart] - then[hart] >= times)
			harts |= 1u << hart;
	return harts;
}

/* Calls one hart, and does not come back until it has answered. */
BY_ITSELF static void start_hart(uint32_t hart)
{
	next_stack = (uint64_t)stacks[hart + 1];
#if FORM == FAULTY
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wake_flag = hart;
	while (wake_flag != 0)
		;
#else
	boot_flag = 0;
	__atomic_thread_fence(__ATOMIC_RELEASE);
#if FORM == REPAIRED
	/* Again and again: a hart that comes late sets the flag to NOBODY after we have called. */
	do
		wake_flag = hart;
	while (boot_flag == 0);
#else
	wake_flag = hart;
	while (boot_flag == 0)
		;
#endif
#endif
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

BY_ITSELF static void wait_until_up(uint32_t harts)
{
	const uint64_t begin = now();

	while (bits(evidence.up) < harts && now() - begin < parameters.patience)
		work(now(), 1);
}

BY_ITSELF KEEP _Noreturn void idle(void)
{
	for (;;)
		__asm__ volatile("wfi");
}

BY_ITSELF KEEP _Noreturn void secondary_main(uint32_t hart)
{
	/* What every program does, and where a hart without a stack ends. */
	volatile uint32_t own = hart;

	__atomic_fetch_or(&evidence.up, 1u << own, __ATOMIC_RELEASE);
	idle();
}

_Noreturn void boot_main(uint32_t own)
{
	const uint32_t harts = parameters.harts;
	uint32_t looks[MOST_HARTS] = { 0 };

	print("harts: power on\n");
	early_platform_init(own);
	evidence.looked_before = who_looked(looks, 1);
	copy_data();
	clear_bss();
	for (uint32_t hart = 0; hart < harts; hart++)
		looks[hart] = evidence.looks[hart];
	print("harts: memory ready\n");
	kernel_init();
	/* A look is counted after it is done, so that the first may be one of before. */
	evidence.looked_between = who_looked(looks, 2);
	for (uint32_t hart = 0; hart < harts; hart++)
		evidence.left_early |= evidence.left[hart] << hart;
	for (uint32_t hart = 0; hart < harts; hart++) {
		if (hart == own)
			continue;
		print("harts: starting hart ");
		print_number(hart);
		print("\n");
		start_hart(hart);
	}
	__atomic_fetch_or(&evidence.up, 1u << own, __ATOMIC_RELEASE);
	wait_until_up(harts);
	print("harts: ");
	print_number(bits(evidence.up));
	print(" of ");
	print_number(harts);
	print(" up\n");
	idle();
}
