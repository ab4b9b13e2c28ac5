/* GPIO lines through /sys/class/gpio, as every kernel before 5.10 has them. See gpio_lines.h and
 * the kernel's Documentation/ABI/obsolete/sysfs-gpio. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpio_lines.h"
#include "core/files.h"

#define CLASS "/sys/class/gpio"

/* Lines are numbered across chips here: the chip's first number, or a negative errno. Where a
 * character device of that name exists, the name is meant; before these, chips were named after
 * their first number. */
static int first_number(const char *chip)
{
	char path[PATH_MAX], device[PATH_MAX];
	struct dirent *entry;
	int64_t number, found = -ENODEV;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/bus/gpio/devices/%s/..", chip);
	if (!realpath(path, device)) {
		int error = file_numberf(&number, CLASS "/%s/base", chip);
		return error ? error : (int)number;
	}
	snprintf(path, sizeof(path), "%.4000s/gpio", device);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "gpiochip", 8) != 0)
			continue;
		if (found >= 0) { /* which of them it is, nothing tells */
			found = -EEXIST;
			break;
		}
		found = atoi(entry->d_name + 8);
	}
	closedir(dir);
	return (int)found;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int error = errno;

	if (fd >= 0)
		close(fd);
	return n < 0 ? -error : 0;
}

static int write_number(const char *path, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	return write_file(path, text);
}

static int write_line(int number, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), CLASS "/gpio%d/%s", number, file);
	return write_file(path, text);
}

/* Makes the files of a line. Where udev gives them to a group it does so a little later. */
static int export_line(int number, int *exported)
{
	char path[64];
	const struct timespec pause = {.tv_nsec = 10000000};
	int error = write_number(CLASS "/export", number);

	if (error)
		return error;
	*exported = number;
	snprintf(path, sizeof(path), CLASS "/gpio%d/direction", number);
	for (int tries = 0; tries < 100 && access(path, W_OK) < 0; tries++)
		nanosleep(&pause, NULL);
	return 0;
}

static int open_value(int number, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), CLASS "/gpio%d/value", number);
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int refuse(const struct gpio *g, const struct run *run, unsigned line, int error,
		  const char *what)
{
	return json_error(77, -error, "%s: line %u of %s %s", run->benchmark->id, line, g->chip,
			  what);
}

static int sysfs_open(struct gpio *g, const struct run *run)
{
	int first = first_number(g->chip);
	char path[64];
	int error;

	if (access(CLASS "/export", F_OK) < 0)
		return json_error(77, errno, "%s: this kernel has no " CLASS " (CONFIG_GPIO_SYSFS): "
					     "method=chardev may work", run->benchmark->id);
	if (first == -EEXIST)
		return json_error(77, EEXIST, "%s: the device of %s has several chips in " CLASS
					      ", and nothing tells which is meant: method=chardev "
					      "has no such doubt", run->benchmark->id, g->chip);
	if (first < 0)
		return json_error(77, -first, "%s: no chip %s in " CLASS, run->benchmark->id,
				  g->chip);
	snprintf(path, sizeof(path), CLASS "/gpiochip%d/label", first);
	if (file_read(path, g->label, sizeof(g->label)) < 0)
		g->label[0] = '\0';
	error = export_line(first + (int)g->in, &g->in_number);
	if (error)
		return refuse(g, run, g->in, error, "cannot be exported: it is in use, not there, "
						    "or only root may");
	error = export_line(first + (int)g->out, &g->out_number);
	if (error)
		return refuse(g, run, g->out, error, "cannot be exported: it is in use, not there, "
						     "or only root may");
	error = write_line(g->in_number, "direction", "in");
	if (error == 0)
		error = write_line(g->in_number, "edge", "both");
	if (error)
		return refuse(g, run, g->in, error, "gives no interrupts, so its edges cannot be "
						    "waited for");
	error = write_line(g->out_number, "direction", "low"); /* out, and low from the start */
	if (error)
		return refuse(g, run, g->out, error, "cannot be an output");
	g->in_fd = open_value(g->in_number, O_RDONLY);
	g->out_fd = open_value(g->out_number, O_WRONLY);
	if (g->in_fd < 0 || g->out_fd < 0)
		return refuse(g, run, g->in, g->in_fd < 0 ? g->in_fd : g->out_fd,
			      "cannot be read, or that of out not written");
	return 0;
}

static int sysfs_set(struct gpio *g, bool high)
{
	return pwrite(g->out_fd, high ? "1" : "0", 1, 0) == 1 ? 0 : -errno;
}

static int sysfs_get(struct gpio *g)
{
	char digit;

	return pread(g->in_fd, &digit, 1, 0) == 1 ? digit == '1' : -errno;
}

static int sysfs_wait(struct gpio *g, struct gpio_edge *edge, int timeout_ms)
{
	struct pollfd in = {.fd = g->in_fd, .events = POLLPRI};
	int ready = poll(&in, 1, timeout_ms);
	int level;

	if (ready <= 0)
		return ready < 0 ? -errno : 0;
	level = sysfs_get(g); /* which also makes the next poll() wait again */
	if (level < 0)
		return level;
	*edge = (struct gpio_edge){.rising = level};
	return 1;
}

static void sysfs_close(struct gpio *g)
{
	if (g->out_fd > 0)
		close(g->out_fd);
	if (g->in_fd > 0)
		close(g->in_fd);
	if (g->out_number >= 0) {
		write_line(g->out_number, "direction", "in");
		write_number(CLASS "/unexport", g->out_number);
	}
	if (g->in_number >= 0)
		write_number(CLASS "/unexport", g->in_number);
}

const struct gpio_way gpio_by_sysfs = {
	.name = "sysfs",
	.open = sysfs_open,
	.set = sysfs_set,
	.get = sysfs_get,
	.wait = sysfs_wait,
	.close = sysfs_close,
};
