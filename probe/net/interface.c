/* The network interface that a connection uses. See interface.h. */
#include "net/interface.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/files.h"
#include "net/address.h"

/* --- which it is ----------------------------------------------------------------------------- */

static void name_of_v4(struct interface *i, int fd, const struct sockaddr_in *local)
{
	enum { MOST = 64 };
	static struct ifreq list[MOST];
	struct ifconf all = {.ifc_len = sizeof(list), .ifc_req = list};

	if (ioctl(fd, SIOCGIFCONF, &all) < 0)
		return;
	for (int k = 0; k < all.ifc_len / (int)sizeof(list[0]); k++) {
		const struct sockaddr_in *a = (const struct sockaddr_in *)&list[k].ifr_addr;
		if (a->sin_addr.s_addr == local->sin_addr.s_addr) {
			snprintf(i->name, sizeof(i->name), "%.*s", IFNAMSIZ - 1, list[k].ifr_name);
			i->name[strcspn(i->name, ":")] = '\0'; /* a label: "eth0:1" */
			return;
		}
	}
}

/* A line of if_inet6: the address in hex digits, index, prefix, scope, flags, name. */
static void name_of_v6(struct interface *i, const struct sockaddr_in6 *local)
{
	static char text[16384];
	char digits[33];

	for (int k = 0; k < 16; k++)
		snprintf(digits + 2 * k, 3, "%02x", local->sin6_addr.s6_addr[k]);
	if (file_read("/proc/net/if_inet6", text, sizeof(text)) > 0 && strstr(text, digits))
		sscanf(strstr(text, digits) + 32, "%*s %*s %*s %*s %15s", i->name);
}

static bool is_v4_in_v6(const struct address *a, struct sockaddr_in *v4)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->socket;

	if (a->socket.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return false;
	v4->sin_family = AF_INET;
	memcpy(&v4->sin_addr, &v6->sin6_addr.s6_addr[12], sizeof(v4->sin_addr));
	return true;
}

/* --- /proc/interrupts ------------------------------------------------------------------------ */

/* The next line of a file, without its end; NULL when there is none. Lines of 1024 CPUs fit. */
static char *next_line(int fd)
{
	static char text[32768];
	static size_t length, taken;
	char *end;

	memmove(text, text + taken, length - taken);
	length -= taken;
	taken = 0;
	while (!(end = memchr(text, '\n', length))) {
		ssize_t n = length < sizeof(text) ? read(fd, text + length, sizeof(text) - length) : 0;
		if (n <= 0) {
			length = 0;
			return NULL;
		}
		length += (size_t)n;
	}
	*end = '\0';
	taken = (size_t)(end - text) + 1;
	return text;
}

void interrupts_read(int fd, each_irq *each, void *context)
{
	static uint64_t counts[IRQ_CPUS];
	static short cpus[IRQ_CPUS]; /* of each column */
	char *line, *end;
	int columns = 0;

	if ((line = next_line(fd)))
		for (char *at = strstr(line, "CPU"); at && columns < IRQ_CPUS;
		     at = strstr(at + 3, "CPU"))
			cpus[columns++] = (short)(atoi(at + 3) % IRQ_CPUS);
	while ((line = next_line(fd))) {
		long irq = strtol(line, &end, 10);
		char *at = end + 1;
		if (end == line || *end != ':')
			continue;
		memset(counts, 0, sizeof(counts));
		for (int k = 0; k < columns; k++, at = end)
			counts[cpus[k]] = strtoull(at, &end, 10);
		each((int)irq, counts, at, context);
	}
}

static void for_each_irq(each_irq *each, void *context)
{
	int fd = open("/proc/interrupts", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	interrupts_read(fd, each, context);
	close(fd);
}

struct search {
	struct interface *interface;
	const char *word;
};

bool interrupts_has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[length]))
			return true;
	return false;
}

static void add_irq(struct interface *i, int irq)
{
	if (i->irq_count < IRQS_MAX)
		i->irqs[i->irq_count++] = irq;
}

static void match_word(int irq, const uint64_t *counts, const char *text, void *context)
{
	struct search *s = context;

	(void)counts;
	if (interrupts_has_word(text, s->word))
		add_irq(s->interface, irq);
}

static void find_by_word(struct interface *i, const char *word)
{
	struct search s = {i, word};

	for_each_irq(match_word, &s);
}

/* Message-signalled interrupts of a PCI device. */
static void find_by_directory(struct interface *i, const char *device)
{
	char path[PATH_MAX + 16];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/msi_irqs", device);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_irq(i, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

/* Drivers name their interrupts after the interface, the device ("fd580000.ethernet", "virtio2")
 * or, on USB and SDIO, the bus that it hangs on ("usb1", "mmc1"): so from the device upwards. The
 * interface is a link to …/DEVICE/net/NAME below /sys/devices. */
static void find_irqs(struct interface *i)
{
	static const char *const ends[] = {"devices", "platform", "virtual", "soc", NULL};
	char path[PATH_MAX] = "/sys/class/net/", name[64], *last;
	size_t prefix = strlen(path);
	ssize_t length;

	find_by_word(i, i->name);
	snprintf(name, sizeof(name), "/sys/class/net/%s", i->name);
	length = readlink(name, path + prefix, sizeof(path) - prefix - 1);
	last = length > 0 ? strrchr(path, '/') : NULL; /* before the name */
	while (last && i->irq_count == 0) {
		*last = '\0';
		last = strrchr(path, '/');
		for (const char *const *end = ends; last && *end; end++)
			if (strcmp(last + 1, *end) == 0)
				return;
		if (!last || strcmp(last + 1, "net") == 0)
			continue;
		find_by_directory(i, path);
		if (i->irq_count == 0)
			find_by_word(i, last + 1);
	}
}

void interface_find(struct interface *i, int fd)
{
	struct address local, remote;
	struct sockaddr_in v4;

	memset(i, 0, sizeof(*i));
	if (address_local(fd, &local) < 0 || address_remote(fd, &remote) < 0)
		return;
	i->same_machine = address_same_host(&local, &remote);
	if (i->same_machine)
		strcpy(i->name, "lo"); /* whosever the address is */
	else if (local.socket.ss_family == AF_INET)
		name_of_v4(i, fd, (const struct sockaddr_in *)&local.socket);
	else if (is_v4_in_v6(&local, &v4))
		name_of_v4(i, fd, &v4);
	else
		name_of_v6(i, (const struct sockaddr_in6 *)&local.socket);
	if (i->name[0] && !i->same_machine)
		find_irqs(i);
}

/* --- who serves it --------------------------------------------------------------------------- */

struct sums {
	const struct interface *interface;
	uint64_t *counts;
};

static void add_counts(int irq, const uint64_t *counts, const char *text, void *context)
{
	struct sums *s = context;

	(void)text;
	for (int k = 0; k < s->interface->irq_count; k++)
		if (s->interface->irqs[k] == irq)
			for (int cpu = 0; cpu < IRQ_CPUS; cpu++)
				s->counts[cpu] += counts[cpu];
}

static void count(const struct interface *i, uint64_t *counts)
{
	struct sums s = {i, counts};

	memset(counts, 0, IRQ_CPUS * sizeof(*counts));
	if (i->irq_count > 0)
		for_each_irq(add_counts, &s);
}

void interface_mark(struct interface *i)
{
	count(i, i->before);
}

uint64_t interface_look(const struct interface *i, uint64_t *counts)
{
	uint64_t sum = 0;

	count(i, counts);
	for (int cpu = 0; cpu < IRQ_CPUS; cpu++) {
		counts[cpu] -= counts[cpu] >= i->before[cpu] ? i->before[cpu] : counts[cpu];
		sum += counts[cpu];
	}
	return sum;
}

/* The effective list (4.13 and later) tells where it goes, the other where it may go. */
static int cpu_by_affinity(int irq)
{
	int64_t cpu;

	if (file_numberf(&cpu, "/proc/irq/%d/effective_affinity_list", irq) == 0 ||
	    file_numberf(&cpu, "/proc/irq/%d/smp_affinity_list", irq) == 0)
		return (int)cpu;
	return -1;
}

int interface_cpu(const struct interface *i)
{
	static uint64_t counts[IRQ_CPUS];
	int most = 0;

	if (i->irq_count == 0)
		return -1;
	if (interface_look(i, counts) == 0)
		count(i, counts); /* since the system started */
	for (int cpu = 1; cpu < IRQ_CPUS; cpu++)
		if (counts[cpu] > counts[most])
			most = cpu;
	return counts[most] > 0 ? most : cpu_by_affinity(i->irqs[0]);
}

/* --- telling --------------------------------------------------------------------------------- */

static void describe_number(const struct interface *i, const char *file, const char *key,
			    struct json *j)
{
	int64_t number;

	/* the speed is -1, or cannot be read, where there is no such thing */
	if (file_numberf(&number, "/sys/class/net/%s/%s", i->name, file) == 0 && number > 0)
		json_signed(j, key, number);
	else
		json_na(j, key, "the kernel tells none for this interface");
}

void interface_describe(const struct interface *i, int cpu, struct json *j)
{
	char link[64], driver[PATH_MAX];
	ssize_t length;

	if (!i->name[0]) {
		json_na(j, "interface", "no interface has the address that the connection uses");
		return;
	}
	json_string(j, "interface", i->name);
	snprintf(link, sizeof(link), "/sys/class/net/%s/device/driver", i->name);
	length = readlink(link, driver, sizeof(driver) - 1);
	driver[length > 0 ? length : 0] = '\0';
	if (length > 0)
		json_string(j, "driver", strrchr(driver, '/') ? strrchr(driver, '/') + 1 : driver);
	else
		json_na(j, "driver", "no device is behind this interface");
	describe_number(i, "mtu", "mtu", j);
	describe_number(i, "speed", "speed_mbit", j);
	json_open(j, "interrupts", '[');
	for (int k = 0; k < i->irq_count; k++)
		json_signed(j, NULL, i->irqs[k]);
	json_close(j, ']');
	if (cpu >= 0)
		json_signed(j, "interrupt_cpu", cpu);
	else
		json_na(j, "interrupt_cpu", "the interface has no interrupt of its own");
}
