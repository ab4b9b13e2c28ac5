/* The network interface that a connection uses, and the interrupts that serve it. */
#ifndef BV_INTERFACE_H
#define BV_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"

enum { IRQS_MAX = 64, IRQ_CPUS = 1024 };

struct interface {
	char name[IFNAMSIZ]; /* empty: unknown */
	bool same_machine;   /* the other end is on this system: nothing is sent by a wire */
	int irqs[IRQS_MAX];
	int irq_count;
	uint64_t before[IRQ_CPUS]; /* how often each CPU was interrupted by it, at interface_mark() */
};

/* Finds the interface of a connected socket and its interrupts. */
void interface_find(struct interface *i, int fd);

/* Between a mark and a look, which CPU was interrupted by it how often. `counts` holds IRQ_CPUS
 * numbers. Returns the sum. */
void interface_mark(struct interface *i);
uint64_t interface_look(const struct interface *i, uint64_t *counts);

/* The CPU that serves its interrupts: the one that had most of them since the mark, or since
 * the system started, else the one that the kernel names. -1: not known, or there are none. */
int interface_cpu(const struct interface *i);

/* Adds "interface", "driver", "mtu", "speed_mbit", "interrupts", "interrupt_cpu". */
void interface_describe(const struct interface *i, int cpu, struct json *j);

/* Calls each() for every numbered line of a text like /proc/interrupts; counts[] is by CPU, text
 * what follows the counts. */
typedef void each_irq(int irq, const uint64_t *counts, const char *text, void *context);
void interrupts_read(int fd, each_irq *each, void *context);

/* "eth0" is in "mlx5-eth0-rx-0", but not in "eth01". */
bool interrupts_has_word(const char *text, const char *word);

#endif
