/* Which processes there are, and which of them are busy. See facts.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"
#include "state/facts.h"

enum { PROCESSES = 4096, NAME = 20, BUSIEST = 8 };

struct process {
	int pid;
	unsigned tty;
	unsigned priority, policy;
	uint64_t ticks; /* of CPU time */
	uint64_t bytes; /* read from and written to disks */
	char name[NAME];
};

static struct process processes[PROCESSES];
static int process_count;
static uint64_t first_look_ns;

/* rchar and wchar would count pipes too. Root alone may ask for others. */
static uint64_t io_bytes(int pid)
{
	char path[48], text[512];
	uint64_t total = 0;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	if (file_read(path, text, sizeof(text)) < 0)
		return 0;
	for (char *line = text; line; line = strchr(line, '\n')) {
		unsigned long long n;
		line += *line == '\n';
		if (sscanf(line, "read_bytes: %llu", &n) == 1 ||
		    sscanf(line, "write_bytes: %llu", &n) == 1)
			total += n;
	}
	return total;
}

static bool look_at(int pid, struct process *p)
{
	char path[48], text[1024];
	unsigned long long user, system;
	char *name, *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, text, sizeof(text)) < 0)
		return false;
	name = strchr(text, '(');
	rest = strrchr(text, ')'); /* a name may hold parentheses too */
	if (!name || !rest || rest < name)
		return false;
	*rest = '\0';
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), "%s", name + 1);
	p->priority = p->policy = 0;
	if (sscanf(rest + 1,
		   " %*c %*d %*d %*d %u %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
		   "%*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %*d %u %u",
		   &p->tty, &user, &system, &p->priority, &p->policy) < 3)
		return false;
	p->ticks = user + system;
	p->bytes = io_bytes(pid);
	return true;
}

static int look_at_all(struct process *found, int most)
{
	enum { TOTAL_NS = 150000000 };
	DIR *dir = opendir("/proc");
	uint64_t begin = clock_work_ns();
	struct dirent *entry;
	int count = 0;

	while (dir && count < most && clock_work_ns() - begin < TOTAL_NS &&
	       (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() && look_at(pid, &found[count]))
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

static bool named_before(int index)
{
	for (int i = 0; i < index; i++)
		if (strcmp(processes[i].name, processes[index].name) == 0)
			return true;
	return false;
}

/* Each name once; the many workers of the kernel come and go. */
static void fact_names(struct json *j)
{
	enum { NAMES = 400 };
	int names = 0;

	fact_begin(j, "processes", NULL);
	json_open(j, "value", '[');
	for (int i = 0; i < process_count && names < NAMES; i++) {
		if (strncmp(processes[i].name, "kworker/", 8) == 0 || named_before(i))
			continue;
		json_string(j, NULL, processes[i].name);
		names++;
	}
	json_close(j, ']');
	fact_send(j);
}

static void fact_irq_threads(struct json *j)
{
	fact_begin(j, "irq_threads", NULL);
	json_open(j, "value", '[');
	for (int i = 0; i < process_count; i++) {
		if (strncmp(processes[i].name, "irq/", 4) != 0)
			continue;
		json_open(j, NULL, '{');
		json_string(j, "name", processes[i].name);
		json_unsigned(j, "policy", processes[i].policy);
		json_unsigned(j, "priority", processes[i].priority);
		json_close(j, '}');
	}
	json_close(j, ']');
	fact_send(j);
}

void facts_processes(struct json *j)
{
	first_look_ns = clock_ns();
	process_count = look_at_all(processes, PROCESSES);
	fact_names(j);
	fact_irq_threads(j);
}

bool processes_have_tty(unsigned device)
{
	for (int i = 0; i < process_count; i++)
		if (processes[i].tty == device)
			return true;
	return false;
}

/* Process numbers rise in both lists, so that the search goes on where the last one ended. */
static const struct process *before(int pid, int *from)
{
	while (*from < process_count && processes[*from].pid < pid)
		++*from;
	return *from < process_count && processes[*from].pid == pid ? &processes[*from] : NULL;
}

static int by_use(const void *a, const void *b)
{
	const struct process *p = a, *q = b;

	if (p->ticks != q->ticks)
		return p->ticks < q->ticks ? 1 : -1;
	return p->bytes < q->bytes ? 1 : p->bytes > q->bytes ? -1 : 0;
}

static int differences(struct process *now, int count)
{
	int kept = 0, from = 0;

	for (int i = 0; i < count; i++) {
		const struct process *then = before(now[i].pid, &from);
		if (!then || then->ticks > now[i].ticks || then->bytes > now[i].bytes)
			continue; /* began meanwhile: there is no difference */
		now[i].ticks -= then->ticks;
		now[i].bytes -= then->bytes;
		if (now[i].ticks || now[i].bytes)
			now[kept++] = now[i];
	}
	return kept;
}

void facts_busy(struct json *j)
{
	static struct process now[PROCESSES];
	uint64_t since = clock_ns() - first_look_ns;
	int count;

	if (since < BUSY_WINDOW_NS)
		nanosleep(&(struct timespec){.tv_nsec = (long)(BUSY_WINDOW_NS - since)}, NULL);
	count = differences(now, look_at_all(now, PROCESSES));
	since = clock_ns() - first_look_ns;
	qsort(now, (size_t)count, sizeof(now[0]), by_use);
	fact_begin(j, "busy", NULL);
	json_open(j, "value", '{');
	json_unsigned(j, "window_ns", since);
	json_signed(j, "ticks_per_second", sysconf(_SC_CLK_TCK));
	json_open(j, "processes", '[');
	for (int i = 0; i < count && i < BUSIEST; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", now[i].name);
		json_signed(j, "pid", now[i].pid);
		json_unsigned(j, "ticks", now[i].ticks);
		json_unsigned(j, "disk_bytes", now[i].bytes);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	fact_send(j);
}

static void fact_termios(struct json *j, const char *name)
{
	static const speed_t codes[] = {B1200, B2400, B4800, B9600, B19200, B38400, B57600,
		B115200, B230400, B460800, B921600, B1000000, B1500000, B2000000, B3000000};
	static const unsigned speeds[] = {1200, 2400, 4800, 9600, 19200, 38400, 57600,
		115200, 230400, 460800, 921600, 1000000, 1500000, 2000000, 3000000};
	char path[64];
	struct termios t;
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || tcgetattr(fd, &t) < 0) {
		fact_na(j, "termios", name, errno, "the settings of the line cannot be read");
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	fact_begin(j, "termios", name);
	json_open(j, "value", '{');
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (cfgetospeed(&t) == codes[i])
			json_unsigned(j, "speed", speeds[i]);
	json_string(j, "ixon", t.c_iflag & IXON ? "on" : "off");
	json_string(j, "ixoff", t.c_iflag & IXOFF ? "on" : "off");
	json_string(j, "crtscts", t.c_cflag & CRTSCTS ? "on" : "off");
	json_string(j, "icanon", t.c_lflag & ICANON ? "on" : "off");
	json_string(j, "icrnl", t.c_iflag & ICRNL ? "on" : "off");
	json_string(j, "opost", t.c_oflag & OPOST ? "on" : "off");
	json_string(j, "parity", t.c_cflag & PARENB ? t.c_cflag & PARODD ? "odd" : "even" : "none");
	json_unsigned(j, "data_bits", (t.c_cflag & CSIZE) == CS7 ? 7 : 8);
	json_unsigned(j, "stop_bits", t.c_cflag & CSTOPB ? 2 : 1);
	json_close(j, '}');
	fact_send(j);
}

/* Opening a serial port raises its control lines and closing drops them: so only consoles, and only
 * while somebody has them open already. */
void facts_consoles(struct json *j)
{
	char text[1024];
	char name[32], flags[32];
	unsigned major_number, minor_number;

	if (file_read("/proc/consoles", text, sizeof(text)) < 0)
		return;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *at = strrchr(line, ' ');
		if (!at || sscanf(line, "%31s %31s", name, flags) != 2 || strchr(name, '/') ||
		    sscanf(at, "%u:%u", &major_number, &minor_number) != 2)
			continue;
		/* the number in stat: bits 20 to 31 and 0 to 7 are the minor's */
		unsigned device = (minor_number & 0xff) | major_number << 8 |
				  (minor_number & ~0xffu) << 12;
		if (processes_have_tty(device))
			fact_termios(j, name);
		else
			fact_na(j, "termios", name, 0, "nobody has the line open");
	}
}
