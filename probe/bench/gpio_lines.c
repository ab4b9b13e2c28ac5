/* GPIO lines through the character device and through registers. See gpio_lines.h.
 *
 * Version 2 of the character device (Linux 5.10) is documented in the kernel's
 * Documentation/userspace-api/gpio/chardev.rst. */
#include "bench/gpio_lines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"

/* --- the character device -------------------------------------------------------------------- */

static int open_chip(struct gpio *g, const struct run *run)
{
	struct gpiochip_info info = {0};
	char path[48];

	snprintf(path, sizeof(path), "/dev/%s", g->chip);
	g->chip_fd = open(path, O_RDWR | O_CLOEXEC);
	if (g->chip_fd < 0)
		return json_error(77, errno, "%s: cannot open %s: be root or in its group, and see "
					     "/dev/gpiochip* for the chips of this board",
				  run->benchmark->id, path);
	if (ioctl(g->chip_fd, GPIO_GET_CHIPINFO_IOCTL, &info) < 0)
		return json_error(77, errno, "%s: %s is no GPIO chip", run->benchmark->id, path);
	snprintf(g->label, sizeof(g->label), "%.31s", info.label);
	for (int i = 0; i < 2; i++) {
		unsigned line = i ? g->in : g->out;
		if (line >= info.lines)
			return json_error(2, EINVAL, "%s: %s=%u, but %s (%s) has the lines 0 to %u",
					  run->benchmark->id, i ? "in" : "out", line, g->chip,
					  g->label, info.lines - 1);
	}
	return 0;
}

static int refuse_line(const struct gpio *g, const struct run *run, unsigned line, int error)
{
	const char *id = run->benchmark->id;
	struct gpio_v2_line_info info = {.offset = line};

	if (ioctl(g->chip_fd, GPIO_V2_GET_LINEINFO_IOCTL, &info) < 0)
		return json_error(77, error, "%s: this kernel has no version 2 of the GPIO "
					     "character device (it came with Linux 5.10): "
					     "method=sysfs may work", id);
	if (error == EBUSY)
		return json_error(77, error, "%s: line %u of %s is in use by \"%.31s\": choose "
					     "another", id, line, g->chip, info.consumer);
	if (line == g->in)
		return json_error(77, error, "%s: line %u of %s gives no interrupts, so its edges "
					     "cannot be waited for: choose another", id, line,
				  g->chip);
	return json_error(77, error, "%s: line %u of %s cannot be an output", id, line, g->chip);
}

/* Asks for one line; its descriptor goes to *fd. Returns 0 or the exit code of an error line. */
static int request(const struct gpio *g, const struct run *run, unsigned line, uint64_t flags,
		   int *fd)
{
	struct gpio_v2_line_request request = {
		.offsets = {line},
		.num_lines = 1,
		.consumer = "benchvise",
		.config = {.flags = flags},
	};

	if (ioctl(g->chip_fd, GPIO_V2_GET_LINE_IOCTL, &request) < 0)
		return refuse_line(g, run, line, errno);
	*fd = request.fd;
	return 0;
}

static int request_lines(struct gpio *g, const struct run *run, uint64_t edges)
{
	struct gpio_v2_line_info info = {.offset = g->out};
	int status = open_chip(g, run);

	if (status)
		return status;
	if (ioctl(g->chip_fd, GPIO_V2_GET_LINEINFO_IOCTL, &info) == 0)
		g->out_was_input = info.flags & GPIO_V2_LINE_FLAG_INPUT;
	status = request(g, run, g->in, GPIO_V2_LINE_FLAG_INPUT | edges, &g->in_fd);
	if (status == 0)
		status = request(g, run, g->out, GPIO_V2_LINE_FLAG_OUTPUT, &g->out_fd);
	return status;
}

static int chardev_open(struct gpio *g, const struct run *run)
{
	return request_lines(g, run,
			     GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING);
}

static int chardev_set(struct gpio *g, bool high)
{
	struct gpio_v2_line_values values = {.bits = high, .mask = 1};

	return ioctl(g->out_fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0 ? -errno : 0;
}

static int chardev_get(struct gpio *g)
{
	struct gpio_v2_line_values values = {.mask = 1};

	return ioctl(g->in_fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0 ? -errno
									    : (int)(values.bits & 1);
}

static int chardev_wait(struct gpio *g, struct gpio_edge *edge, int timeout_ms)
{
	struct pollfd in = {.fd = g->in_fd, .events = POLLIN};
	struct gpio_v2_line_event event;
	int ready = poll(&in, 1, timeout_ms);

	if (ready <= 0)
		return ready < 0 ? -errno : 0;
	if (read(g->in_fd, &event, sizeof(event)) != sizeof(event))
		return -EIO;
	edge->rising = event.id == GPIO_V2_LINE_EVENT_RISING_EDGE;
	edge->kernel_ns = event.timestamp_ns;
	return 1;
}

static void chardev_close(struct gpio *g)
{
	struct gpio_v2_line_config input = {.flags = GPIO_V2_LINE_FLAG_INPUT};

	if (g->out_fd > 0) {
		if (g->out_was_input) /* or it would go on driving its end of the wire */
			ioctl(g->out_fd, GPIO_V2_LINE_SET_CONFIG_IOCTL, &input);
		close(g->out_fd);
	}
	if (g->in_fd > 0)
		close(g->in_fd);
	if (g->chip_fd > 0)
		close(g->chip_fd);
}

static const struct gpio_way gpio_by_chardev = {
	.name = "chardev",
	.open = chardev_open,
	.set = chardev_set,
	.get = chardev_get,
	.wait = chardev_wait,
	.close = chardev_close,
};

/* --- registers ------------------------------------------------------------------------------- */

enum { REGISTERS_BYTES = 4096, GPSET0 = 0x1c / 4, GPCLR0 = 0x28 / 4, GPLEV0 = 0x34 / 4 };

void gpio_registers_set(const struct gpio_registers *r, bool high)
{
	r->words[(high ? GPSET0 : GPCLR0) + r->out / 32] = 1u << r->out % 32;
}

bool gpio_registers_get(const struct gpio_registers *r)
{
	return r->words[GPLEV0 + r->in / 32] >> r->in % 32 & 1;
}

/* The kernel makes the lines input and output and keeps other users away; only levels are set and
 * looked at behind its back. */
static int registers_open(struct gpio *g, const struct run *run)
{
	int fd, status = request_lines(g, run, 0);
	void *words;

	if (status)
		return status;
	if (strcmp(g->label, "pinctrl-bcm2835") != 0 && strcmp(g->label, "pinctrl-bcm2711") != 0)
		return json_error(77, ENODEV, "%s: method=mmap knows the registers of BCM2835 to "
					      "BCM2711 (Raspberry Pi 1 to 4) only, and %s is \"%s\"",
				  run->benchmark->id, g->chip, g->label);
	fd = open("/dev/gpiomem", O_RDWR | O_SYNC | O_CLOEXEC);
	words = fd < 0 ? MAP_FAILED
		       : mmap(NULL, REGISTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		status = json_error(77, errno, "%s: method=mmap needs /dev/gpiomem, which the "
					       "kernels of Raspberry Pi OS have, and the right to "
					       "open it (group gpio)", run->benchmark->id);
	if (fd >= 0)
		close(fd);
	if (status == 0)
		g->registers = (struct gpio_registers){.words = words, .out = g->out, .in = g->in};
	return status;
}

static int registers_set(struct gpio *g, bool high)
{
	gpio_registers_set(&g->registers, high);
	return 0;
}

static int registers_get(struct gpio *g)
{
	return gpio_registers_get(&g->registers);
}

/* Looks and looks, and now and then at the clock. */
static int registers_wait(struct gpio *g, struct gpio_edge *edge, int timeout_ms)
{
	uint64_t end = clock_ns() + (uint64_t)timeout_ms * 1000000;
	enum { LOOKS = 1000 };

	do {
		for (int i = 0; i < LOOKS; i++) {
			bool high = gpio_registers_get(&g->registers);
			if (high == g->registers.high)
				continue;
			g->registers.high = high;
			*edge = (struct gpio_edge){.rising = high};
			return 1;
		}
	} while (clock_ns() < end);
	return 0;
}

static void registers_close(struct gpio *g)
{
	if (g->registers.words)
		munmap((void *)g->registers.words, REGISTERS_BYTES);
	chardev_close(g);
}

static const struct gpio_way gpio_by_registers = {
	.name = "mmap",
	.open = registers_open,
	.set = registers_set,
	.get = registers_get,
	.wait = registers_wait,
	.close = registers_close,
};

/* --- whichever ------------------------------------------------------------------------------- */

/* "gpiochip0 gpiochip1", or "none" */
static void list_chips(char *text, size_t size)
{
	DIR *dir = opendir("/dev");
	struct dirent *entry;
	size_t used = 0;

	snprintf(text, size, "none");
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "gpiochip", 8) == 0 && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%.20s",
						 used ? " " : "", entry->d_name);
	if (dir)
		closedir(dir);
}

static int ask_for_lines(const struct run *run)
{
	char chips[200];

	list_chips(chips, sizeof(chips));
	return json_error(77, 0, "%s: cannot know which lines are wired: join two free ones by a "
				 "wire and name them with chip, out and in (chips of this board: %s)",
			  run->benchmark->id, chips);
}

int gpio_open(struct gpio *g, const struct run *run)
{
	static const struct gpio_way *const ways[] = {&gpio_by_chardev, &gpio_by_sysfs,
						      &gpio_by_registers};
	const char *chip = arg_text(&run->args, "chip");
	uint64_t out = arg_number(&run->args, "out"), in = arg_number(&run->args, "in");

	if (strncmp(chip, "/dev/", 5) == 0)
		chip += 5;
	if (strcmp(chip, "auto") == 0 || out == AUTO || in == AUTO)
		return ask_for_lines(run);
	if (strncmp(chip, "gpiochip", 8) != 0 || strchr(chip, '/'))
		return json_error(2, EINVAL, "%s: chip=%s is no name such as gpiochip0",
				  run->benchmark->id, chip);
	if (out == in)
		return json_error(2, EINVAL, "%s: out and in are the same line, and have to be two "
					     "that a wire joins", run->benchmark->id);
	snprintf(g->chip, sizeof(g->chip), "%s", chip);
	g->out = (unsigned)out;
	g->in = (unsigned)in;
	g->out_number = g->in_number = -1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (arg_is(&run->args, "method", ways[i]->name))
			g->way = ways[i];
	return g->way->open(g, run);
}

void gpio_close(struct gpio *g)
{
	if (g->way)
		g->way->close(g);
	g->way = NULL;
}
