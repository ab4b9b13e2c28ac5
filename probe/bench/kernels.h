/* Loops that copy, fill and read memory with known instructions.
 *
 * A static binary's memcpy is not the board's, and a compiler's loop is whatever it was that day,
 * so each kernel is assembly that says what it does. Sizes and addresses are multiples of 256
 * bytes. */
#ifndef BV_KERNELS_H
#define BV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json.h"

struct kernel {
	const char *name;
	const char *needs;      /* what the CPU must have, for a person */
	bool (*usable)(void);   /* NULL: always */
	void (*copy)(void *to, const void *from, size_t size);
	void (*fill)(void *to, size_t size);
	void (*read)(const void *from, size_t size);
};

/* The `kernel` parameter: every name of every architecture, so that the host knows them all. */
extern const char kernel_choices[];
extern const char kernel_summary[];

/* Ends with a NULL name; of those usable, the first with the wanted loop is what `auto` means. */
extern const struct kernel arch_kernels[];

enum kernel_loop { KERNEL_COPY, KERNEL_FILL, KERNEL_READ };

/* The kernel of that name, or NULL with *why set. */
const struct kernel *kernel_find(const char *name, enum kernel_loop loop, const char **why);

void kernels_describe_features(struct json *j);

/* The portable kernel: machine words, eight a round. */
void words_copy(void *to, const void *from, size_t size);
void words_fill(void *to, size_t size);
void words_read(const void *from, size_t size);

#endif
