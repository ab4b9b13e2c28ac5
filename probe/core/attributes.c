/* Attributes of the measuring process. See attributes.h.
 *
 * prctl(2): PR_SET_THP_DISABLE and PR_SET_TIMERSLACK outlive fork and execve. personality(2):
 * ADDR_NO_RANDOMIZE is looked at by execve. Affinity, niceness, policies, I/O priorities, limits,
 * the environment and the mount namespace are inherited by all that is started from here. */
#include "core/attributes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/files.h"
#include "core/own_mounts.h"

#ifndef PR_THP_DISABLE_EXCEPT_ADVISED
#define PR_THP_DISABLE_EXCEPT_ADVISED (1 << 1) /* Linux 6.18 */
#endif

enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_SHIFT = 13 }; /* linux/ioprio.h */

static bool number_of(const char *text, long low, long high, long *number)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && low < 0))
		return false;
	errno = 0;
	*number = strtol(text, &end, 10);
	return errno == 0 && *end == '\0' && *number >= low && *number <= high;
}

/* All setters return 0, -EINVAL for a value that is none, or another negative errno. */

static int set_thp(const char *value)
{
	if (strcmp(value, "off") == 0)
		return prctl(PR_SET_THP_DISABLE, 1UL, 0UL, 0UL, 0UL) < 0 ? -errno : 0;
	if (strcmp(value, "on") == 0)
		return prctl(PR_SET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL) < 0 ? -errno : 0;
	if (strcmp(value, "advised") != 0)
		return -EINVAL;
	/* older kernels know no flags */
	return prctl(PR_SET_THP_DISABLE, 1UL, (unsigned long)PR_THP_DISABLE_EXCEPT_ADVISED, 0UL,
		     0UL) < 0 ? -ENOSYS : 0;
}

static int set_aslr(const char *value)
{
	int now = personality(0xffffffff);
	bool off = strcmp(value, "off") == 0;

	if (!off && strcmp(value, "on") != 0)
		return -EINVAL;
	if (now < 0)
		return -errno;
	now = off ? now | ADDR_NO_RANDOMIZE : now & ~ADDR_NO_RANDOMIZE;
	return personality((unsigned long)now) < 0 ? -errno : 0;
}

static int set_timer_slack(const char *value)
{
	long ns;

	if (!number_of(value, 1, INT32_MAX, &ns))
		return -EINVAL;
	return prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0UL, 0UL, 0UL) < 0 ? -errno : 0;
}

static void add_cpu(int cpu, void *context)
{
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		CPU_SET(cpu, (cpu_set_t *)context);
}

static int set_cpus(const char *value)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (!isdigit((unsigned char)value[0]) || value[strspn(value, "0123456789,-")])
		return -EINVAL;
	for_each_cpu(value, add_cpu, &set);
	if (CPU_COUNT(&set) == 0)
		return -EINVAL;
	/* the kernel says EINVAL when none of them is there */
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? (errno == EINVAL ? -ENODEV : -errno)
							   : 0;
}

static int set_nice(const char *value)
{
	long nice;

	if (!number_of(value, -20, 19, &nice))
		return -EINVAL;
	return setpriority(PRIO_PROCESS, 0, (int)nice) < 0 ? -errno : 0;
}

/* `word:N` or `word` alone; false when `text` is neither. */
static bool is_class(const char *text, const char *word, long low, long high, long *level)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) != 0)
		return false;
	*level = low;
	return text[length] == ':' ? number_of(text + length + 1, low, high, level)
				   : text[length] == '\0';
}

static int set_sched(const char *value)
{
	static const struct {
		const char *name;
		int policy;
		long low, high;
	} policies[] = {
		{"other", SCHED_OTHER, 0, 0}, {"batch", SCHED_BATCH, 0, 0},
		{"idle", SCHED_IDLE, 0, 0},   {"fifo", SCHED_FIFO, 1, 99},
		{"rr", SCHED_RR, 1, 99},
	};

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct sched_param parameter = {0};
		long level;
		if (!is_class(value, policies[i].name, policies[i].low, policies[i].high, &level))
			continue;
		parameter.sched_priority = (int)level;
		/* musl's sched_setscheduler() does nothing but fail: it minds threads */
		return syscall(SYS_sched_setscheduler, 0, policies[i].policy, &parameter) < 0
			       ? -errno : 0;
	}
	return -EINVAL;
}

static int set_ioprio(const char *value)
{
	static const char *const classes[] = {NULL, "rt", "be", "idle"};

	for (int class = 1; class <= 3; class++) {
		long level;
		if (is_class(value, classes[class], 0, class == 3 ? 0 : 7, &level))
			return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
				       class << IOPRIO_CLASS_SHIFT | level) < 0 ? -errno : 0;
	}
	return -EINVAL;
}

/* Holds as long as the file is open, so it stays open, in what is executed from here too. */
static int set_dma_latency(const char *value)
{
	long us;
	int32_t wanted;
	int fd;

	if (!number_of(value, 0, INT32_MAX, &us))
		return -EINVAL;
	wanted = (int32_t)us;
	fd = open("/dev/cpu_dma_latency", O_WRONLY);
	if (fd < 0)
		return -errno;
	return write(fd, &wanted, sizeof(wanted)) == (ssize_t)sizeof(wanted) ? 0 : -EIO;
}

const struct limit_kind limit_kinds[] = {
	{"cpu", RLIMIT_CPU},         {"fsize", RLIMIT_FSIZE},   {"data", RLIMIT_DATA},
	{"stack", RLIMIT_STACK},     {"rss", RLIMIT_RSS},       {"nproc", RLIMIT_NPROC},
	{"nofile", RLIMIT_NOFILE},   {"as", RLIMIT_AS},         {"nice", RLIMIT_NICE},
	{"memlock", RLIMIT_MEMLOCK}, {"rtprio", RLIMIT_RTPRIO}, {"rttime", RLIMIT_RTTIME},
	{"core", RLIMIT_CORE},       {"msgqueue", RLIMIT_MSGQUEUE},
	{"sigpending", RLIMIT_SIGPENDING},
};
_Static_assert(sizeof(limit_kinds) / sizeof(limit_kinds[0]) == LIMIT_KINDS, "of the header");

/* A number or `unlimited`, and behind it nothing or a colon. */
static bool limit_of(const char *text, rlim_t *limit, const char **behind)
{
	static const char unlimited[] = "unlimited";
	char *end;

	if (strncmp(text, unlimited, sizeof(unlimited) - 1) == 0) {
		*limit = RLIM_INFINITY;
		*behind = text + sizeof(unlimited) - 1;
		return true;
	}
	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*limit = (rlim_t)strtoull(text, &end, 10);
	*behind = end;
	return errno == 0;
}

static bool is_above(rlim_t one, rlim_t other)
{
	return other != RLIM_INFINITY && (one == RLIM_INFINITY || one > other);
}

/* The soft limit, as a shell's `ulimit -S` sets it, and the hard one after a colon; without that
 * the hard one changes only where it is below. */
static int set_limit(const char *name, const char *value)
{
	rlim_t soft, hard = 0;
	struct rlimit limit;
	const char *behind;
	bool both;

	if (!limit_of(value, &soft, &behind))
		return -EINVAL;
	both = *behind == ':';
	if (both && !limit_of(behind + 1, &hard, &behind))
		return -EINVAL;
	if (*behind || (both && is_above(soft, hard)))
		return -EINVAL;
	for (int i = 0; i < LIMIT_KINDS; i++) {
		if (strcmp(limit_kinds[i].name, name) != 0)
			continue;
		if (getrlimit(limit_kinds[i].resource, &limit) < 0)
			return -errno;
		limit.rlim_cur = soft;
		if (both)
			limit.rlim_max = hard;
		else if (is_above(soft, limit.rlim_max))
			limit.rlim_max = soft;
		return setrlimit(limit_kinds[i].resource, &limit) < 0 ? -errno : 0;
	}
	return -EINVAL;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c)
						     ? (c | 0x20) - 'a' + 10 : -1;
}

/* `%XX` becomes the byte; false where a `%` is none of these, or the byte would end the text. */
static bool unescape(const char *from, char *to, size_t size)
{
	size_t length = 0;

	for (; *from && length + 1 < size; from++) {
		int byte = (unsigned char)*from;
		if (byte == '%') {
			int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
			byte = low < 0 ? 0 : high * 16 + low;
			if (byte == 0)
				return false;
			from += 2;
		}
		to[length++] = (char)byte;
	}
	to[length] = '\0';
	return *from == '\0';
}

static int set_variable(const char *name, const char *value)
{
	static char text[16384];

	if (!name[0] || isdigit((unsigned char)name[0]) ||
	    name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])
		return -EINVAL;
	if (strcmp(value, "%") == 0)
		return unsetenv(name) < 0 ? -errno : 0;
	if (!unescape(value, text, sizeof(text)))
		return -EINVAL;
	return setenv(name, text, 1) < 0 ? -errno : 0;
}

static int set_preload(const char *value)
{
	int error = strcmp(value, "none") == 0 ? own_mounts_file("/etc/ld.so.preload", "") : -EINVAL;

	return error == -ENOTDIR ? 0 : error; /* there is no list */
}

static int set_file(const char *path, const char *value)
{
	size_t size = strlen(value) + 1;
	char *content = malloc(size);
	int error;

	if (!content)
		return -ENOMEM;
	error = unescape(value, content, size) ? own_mounts_file(path, content) : -EINVAL;
	free(content);
	return error;
}

static int set_directory(const char *path, const char *value)
{
	if (strcmp(value, "copy") == 0)
		return own_mounts_copy(path);
	return strcmp(value, "memory") == 0 ? own_mounts_directory(path) : -EINVAL;
}

static int set_bind(const char *path, const char *value)
{
	return own_mounts_bind(path, value);
}

/* What a name with a dot at its end begins is followed by what it is about: `limit.nofile`. */
static const struct {
	const char *name;
	int (*set)(const char *value);
	int (*set_named)(const char *name, const char *value);
	bool executed; /* holds only for what is executed from here on */
	const char *values;
	const char *summary;
} attributes[] = {
	{"thp", set_thp, NULL, false, "off, advised or on",
	 "transparent huge pages: none (and no huge zero page), only where a program advises them "
	 "(Linux 6.18), or as the board is set"},
	{"aslr", set_aslr, NULL, true, "off or on", "random places of stack, heap and libraries"},
	{"timer_slack", set_timer_slack, NULL, false, "nanoseconds from 1",
	 "how late a sleep may end so that wake-ups fall together; nothing under real-time policies"},
	{"cpus", set_cpus, NULL, false, "a list such as 0-2,4", "the CPUs that it may run on"},
	{"nice", set_nice, NULL, false, "a number from -20 to 19", "niceness"},
	{"sched", set_sched, NULL, false, "other, batch, idle, fifo:N or rr:N with N from 1 to 99",
	 "scheduling policy and priority"},
	{"ioprio", set_ioprio, NULL, false, "idle, be:N or rt:N with N from 0 to 7",
	 "class and level of its I/O; seen by schedulers that mind them (bfq, mq-deadline)"},
	{"dma_latency", set_dma_latency, NULL, false, "microseconds",
	 "the longest way out of an idle state that the whole board may take meanwhile"},
	{"limit.", NULL, set_limit, false, "a number or unlimited, after one of cpu, fsize, data, "
	 "stack, rss, nproc, nofile, as, nice, memlock, rtprio, rttime, core, msgqueue or "
	 "sigpending; "
	 "the hard limit after a colon",
	 "limits of a resource; without a hard one that is raised where it is lower (root)"},
	{"env.", NULL, set_variable, false, "a text with %XX for bytes, or % alone, after the name of "
	 "a variable", "a variable of the environment; % alone takes it away"},
	{"preload", set_preload, NULL, false, "none",
	 "what /etc/ld.so.preload names is not loaded (root)"},
	{"file.", NULL, set_file, false, "a text with %XX for bytes, after the path of a file",
	 "what a file holds (root); nobody else sees it"},
	{"directory.", NULL, set_directory, false, "memory or copy, after the path of a directory",
	 "a directory in memory, empty or with a copy of what it holds (root); nobody else sees it"},
	{"bind.", NULL, set_bind, false, "a path, after the path of a file or directory",
	 "another file or directory of the board stands there (root); nobody else sees it"},
};

enum { COUNT = sizeof(attributes) / sizeof(attributes[0]) };

static const char *reason_of(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return "this user may not: it takes root or a capability";
	case ENODEV:
		return "there is no such CPU among those that this process may use";
	case ENOSYS:
		return "this kernel is too old for it";
	case ENOENT:
		return "this kernel does not offer it";
	case EFBIG:
		return "it holds more than there is memory for a copy";
	case ENOTDIR:
		return "there is no such file or directory";
	default:
		return "this kernel refuses it";
	}
}

static int take(const char *name, const char *value, bool *again)
{
	for (int i = 0; i < COUNT; i++) {
		size_t length = strlen(attributes[i].name);
		int error;
		if (strncmp(attributes[i].name, name, attributes[i].set_named ? length : length + 1))
			continue;
		error = attributes[i].set_named ? attributes[i].set_named(name + length, value)
						: attributes[i].set(value);
		if (error == -EINVAL)
			return json_error(2, EINVAL, "--as %s=%.80s: it takes %s", name, value,
					  attributes[i].values);
		if (error)
			return json_error(77, -error, "--as %s=%.80s is not possible here: %s", name,
					  value, reason_of(-error));
		*again = *again || attributes[i].executed;
		return 0;
	}
	return json_error(2, EINVAL, "--as %s=%.80s: there is no such attribute: `bvprobe list` names "
				     "them", name, value);
}

/* The comma before the next pair: one within a value (a list of CPUs) has no "=" behind it. */
static char *end_of_pair(char *text)
{
	for (char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
		size_t word = strcspn(comma + 1, ",=");
		if (comma[1 + word] == '=')
			return comma;
	}
	return NULL;
}

static int take_all(char *text, bool *again)
{
	for (char *pair = text, *next; pair; pair = next) {
		char *end = end_of_pair(pair), *equals = strchr(pair, '=');
		int status;

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		if (!equals || equals == pair)
			return json_error(2, EINVAL, "--as %s: that is not NAME=VALUE", pair);
		*equals = '\0';
		status = take(pair, equals + 1, again);
		if (status)
			return status;
	}
	return 0;
}

int attributes_take(int *argc, char *argv[], bool *again)
{
	int left = 0;

	*again = false;
	for (int i = 0; i < *argc; i += 2) {
		if (strcmp(argv[i], "--as") != 0) {
			argv[left++] = argv[i];
			if (i + 1 < *argc)
				argv[left++] = argv[i + 1];
			continue;
		}
		if (i + 1 == *argc)
			return json_error(2, EINVAL, "--as needs a value: NAME=VALUE");
		int status = take_all(argv[i + 1], again);
		if (status)
			return status;
	}
	*argc = left;
	argv[left] = NULL;
	return 0;
}

void attributes_describe(struct json *j)
{
	json_open(j, "attributes", '[');
	for (int i = 0; i < COUNT; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", attributes[i].name);
		json_string(j, "values", attributes[i].values);
		json_string(j, "summary", attributes[i].summary);
		json_close(j, '}');
	}
	json_close(j, ']');
}
