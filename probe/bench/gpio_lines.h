/* Two lines of a GPIO chip, one driven and one watched, by the ways in which programs do that. */
#ifndef BV_GPIO_LINES_H
#define BV_GPIO_LINES_H

#include "core/batch.h"

struct gpio;

/* A change of the watched line. */
struct gpio_edge {
	bool rising;
	uint64_t kernel_ns; /* when its interrupt was handled, CLOCK_MONOTONIC; 0: not told */
};

struct gpio_way {
	const char *name;
	/* Both return 0, or the exit code of an error line. */
	int (*open)(struct gpio *g, const struct run *run);
	/* Drives the line. 0 or a negative errno. */
	int (*set)(struct gpio *g, bool high);
	/* Level of the watched line: 0, 1 or a negative errno. */
	int (*get)(struct gpio *g);
	/* Waits for a change: 1, 0 when none came in that time, or a negative errno. */
	int (*wait)(struct gpio *g, struct gpio_edge *edge, int timeout_ms);
	void (*close)(struct gpio *g);
};

/* Registers of the GPIO block of BCM2835 to BCM2711, by "BCM2835 ARM Peripherals", chapter 6: a bit
 * for each line, 32 to a word. */
struct gpio_registers {
	volatile uint32_t *words;
	unsigned out, in;
	bool high; /* last seen */
};
void gpio_registers_set(const struct gpio_registers *r, bool high);
bool gpio_registers_get(const struct gpio_registers *r);

struct gpio {
	const struct gpio_way *way;
	unsigned out, in;
	char chip[32];  /* "gpiochip0" */
	char label[32]; /* what the driver calls it; empty: not known */
	int chip_fd, out_fd, in_fd;
	bool out_was_input; /* and is given back as one */
	int out_number, in_number; /* of sysfs; -1: not exported by us */
	struct gpio_registers registers;
};

/* Opens the lines that the parameters chip, in and out name, by the way of `method`; OUT is low
 * then. Returns 0, or the exit code of an error line. */
int gpio_open(struct gpio *g, const struct run *run);

/* Gives the lines back; also after a failure, or of a struct that is all zero. */
void gpio_close(struct gpio *g);

extern const struct gpio_way gpio_by_sysfs;

#endif
