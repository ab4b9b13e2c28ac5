/*
 * The first instructions of every hart. All of them begin here at the same time, and nothing in
 * RAM has a value yet but what the image brought: not .bss, not .noinit, not the stacks.
 */

#include "harts.h"

	.section .start, "ax", @progbits

	.globl _start
	.type _start, @function
_start:
	la	t0, trapped
	csrw	mtvec, t0
	csrr	a0, mhartid

	/* A hart may be held, as if it came out of reset later than the others. */
	la	a1, parameters
	slli	t0, a0, 2
	add	t0, t0, a1
	lwu	t0, PARAMETERS_HELD(t0)
	li	t1, MTIME
	ld	t2, 0(t1)
	add	t0, t0, t2
held_in_reset:
	ld	t2, 0(t1)
	bltu	t2, t0, held_in_reset

	lwu	t0, PARAMETERS_BOOT_HART(a1)
	bne	a0, t0, secondary_hart

	/* The boot hart: its stack is the one of its number. */
	la	sp, stacks
	li	t1, STACK_BYTES
	addi	t0, a0, 1
	mul	t0, t0, t1
	add	sp, sp, t0
	call	boot_main
	j	trapped

	/* Everybody else waits to be called by its id. */
secondary_hart:
	la	t0, wake_flag
#if SECONDARIES_SET_THE_FLAG
	li	t1, NOBODY
	sw	t1, 0(t0)
#endif
	la	t1, evidence
	slli	t2, a0, 2
	add	t1, t1, t2
	li	t2, 0
	.globl wait_for_wake
	.type wait_for_wake, @function
wait_for_wake:
	lwu	t3, 0(t0)
	addi	t2, t2, 1
	sw	t2, 0(t1)		/* evidence.looks[hart] */
	bne	t3, a0, wait_for_wake
	.size wait_for_wake, . - wait_for_wake

	.globl woken
	.type woken, @function
woken:
	fence	r, rw			/* what the boot hart wrote before the flag is seen now */
	li	t2, 1
	sw	t2, EVIDENCE_LEFT(t1)	/* evidence.left[hart] */
	la	t1, next_stack
	ld	sp, 0(t1)
#if SEPARATE_ANSWER
	la	t0, boot_flag
	li	t1, 1
	fence	rw, w
	sw	t1, 0(t0)
#else
	fence	rw, w
	sw	zero, 0(t0)
#endif
	call	secondary_main
	.size woken, . - woken

	/* Whoever comes here has done what no hart should: why is kept, and it goes no further. */
	.globl trapped
	.type trapped, @function
	.balign 4
trapped:
	csrr	t0, mhartid
	slli	t0, t0, 3
	la	t1, evidence
	add	t1, t1, t0
	csrr	t0, mcause
	sd	t0, EVIDENCE_CAUSE(t1)
	csrr	t0, mtval
	sd	t0, EVIDENCE_VALUE(t1)
trapped_for_good:
	j	trapped_for_good
	.size trapped, . - trapped
