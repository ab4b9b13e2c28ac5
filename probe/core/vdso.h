/* The code that the kernel maps into each process so that it can read clocks without a system
 * call. Looked up here, as C libraries differ in which of it they use (musl: none on RISC-V). */
#ifndef BV_VDSO_H
#define BV_VDSO_H

/* A function of the vDSO, or NULL when there is none of that name, or no vDSO. */
void *vdso_function(const char *name);

#endif
