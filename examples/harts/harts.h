/* What the assembly and the C of this program share. */

#ifndef HARTS_H
#define HARTS_H

/* The forms of the program; one of them is given to the compiler as FORM. See README.md. */
#define FAULTY 1
#define DOUBTED 2
#define REPAIRED 3
#define INITIALISED 4
#define COPIED 5

#define MOST_HARTS 8
#define STACK_BYTES 4096
#define NOBODY (-1) /* no hart has this id */

/* Does each secondary hart write NOBODY to the wake flag before it looks at it? */
#define SECONDARIES_SET_THE_FLAG (FORM == DOUBTED || FORM == REPAIRED)
/* Is a woken hart's answer a word of its own, or 0 in the wake flag? */
#define SEPARATE_ANSWER (FORM != FAULTY)

/* Offsets into struct parameters and struct evidence, which main.c checks. */
#define PARAMETERS_BOOT_HART 0
#define PARAMETERS_HELD 20
#define EVIDENCE_LEFT 32
#define EVIDENCE_CAUSE 80
#define EVIDENCE_VALUE 144

/* The timer of QEMU's machine `virt`, and of most RISC-V chips that have a CLINT there. */
#define MTIME 0x0200bff8

#endif
