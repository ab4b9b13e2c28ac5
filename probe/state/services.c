/* What process 1 starts: /proc/1/comm/cron.service holds `running` or `stopped`. Who asks is systemd
 * (services and timers), OpenRC, runit, or scripts in /etc/init.d. A service of such scripts runs
 * when the process of its pid file does, or one that is called as it is.
 *
 * A service by which the board is reached is never shown, so it cannot be stopped: the login's own,
 * and those of networks and sessions. One that is started gets what process 1 would give it, not
 * what this session has. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"
#include "state/services.h"
#include "state/trees.h"

enum { SERVICES_MAX = 256, COMMAND_MS = 20000, SETTLE_MS = 5000, LOOK_MS = 50, OUTPUT = 65536 };

static const char root[] = "/proc/1/comm/";

/* -- which are left alone --------------------------------------------------------------------- */

/* Patterns, in lower case, of names without the number that Buildroot puts before them. */
static const char *const kept[] = {
	"*ssh*",     "dropbear*",  "telnet*",   "*network*", "net.*",     "*net*if*",  "dbus*",
	"wpa*",      "*wifi*",     "*dhcp*",    "udhcp*",    "connman*",  "iwd*",      "ifup*",
	"ifplug*",   "hostapd*",   "*vpn*",     "wg-quick*", "wireguard*", "tailscale*", "zerotier*",
	"systemd-*", "user@*",     "user-*",    "getty*",    "*getty@*",  "serial-*",  "*login*",
	"init*",     "*udev*",     "mdev*",     "rc", "rcs", "rck",       "halt",      "reboot",
	"single",    "skeleton",   "readme",    "functions*", "*mount*",  "*fsck*",    "modules*",
	"hostname*", "sysctl*",    "urandom*",  "seed*",     "*hwclock*", "polkit*",   "elogind*",
	"containerd*", "docker*",  "podman*",   "modem*",    "ppp*",      "xrdp*",     "*watchdog*",
};

/* `S60cron` is cron. */
static const char *plain_name(const char *name)
{
	return name[0] == 'S' && isdigit((unsigned char)name[1]) && isdigit((unsigned char)name[2]) &&
			       name[3] ? name + 3 : name;
}

static bool is_named(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("@._:+-", *c))
			return false;
	return name[0] != '.' && name[0] && strlen(name) < 128;
}

static bool is_kept(const char *name)
{
	char lower[128];
	size_t i = 0;

	for (; name[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = '\0';
	for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
		if (fnmatch(kept[k], plain_name(name) == name ? lower : lower + 3, 0) == 0)
			return true;
	return processes_carry_us(plain_name(name));
}

/* -- running a command as process 1 would ------------------------------------------------------ */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0) { /* the group stays as it is */ }
		close(fd);
	}
}

static void join_groups_of_init(void)
{
	FILE *file = fopen("/proc/1/cgroup", "re");
	char line[512], path[640];

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group;
		line[strcspn(line, "\n")] = '\0';
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		controllers++;
		if (strncmp(controllers, "name=", 5) == 0)
			controllers += 5;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s%s/cgroup.procs",
			 controllers[0] ? "/" : "", controllers, group);
		write_text(path, "0");
	}
	if (file)
		fclose(file);
}

static void take_what_init_has(void)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char *environment[2];
	char adjust[32];
	cpu_set_t cpus;
	struct sched_param parameter = {0};
	sigset_t none;

	environment[0] = path;
	environ = environment;
	join_groups_of_init();
	for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
		struct rlimit limit;
		if (prlimit(1, kind, NULL, &limit) == 0)
			setrlimit(kind, &limit);
	}
	if (sched_getaffinity(1, sizeof(cpus), &cpus) == 0)
		sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_OTHER, &parameter);
	setpriority(PRIO_PROCESS, 0, 0);
	if (file_read("/proc/1/oom_score_adj", adjust, sizeof(adjust)) > 0)
		write_text("/proc/self/oom_score_adj", adjust);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (chdir("/") < 0) { /* the command says what it misses */ }
}

static void execute(char *const argv[], int output)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(null, 0);
	dup2(output < 0 ? null : output, 1);
	dup2(null, 2);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	take_what_init_has();
	execvp(argv[0], argv);
	_exit(127);
}

int run_as_init(char *const argv[], char *output, size_t size)
{
	uint64_t deadline = clock_ns() + (uint64_t)COMMAND_MS * 1000000;
	int ends[2] = {-1, -1}, status = 0;
	size_t length = 0;
	pid_t pid;

	if (output && pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		execute(argv, ends[1]);
	if (output)
		close(ends[1]);
	while (pid > 0) {
		pid_t ended = waitpid(pid, &status, WNOHANG);
		ssize_t n = 0;
		while (output && length + 1 < size &&
		       (n = read(ends[0], output + length, size - 1 - length)) > 0)
			length += (size_t)n;
		if (ended != 0)
			break;
		if (clock_ns() > deadline) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			status = -1;
			break;
		}
		poll(NULL, 0, 5);
	}
	if (output) {
		output[length] = '\0';
		close(ends[0]);
	}
	if (pid < 0)
		return -errno;
	return status == -1 ? -ETIMEDOUT : status ? -EIO : 0;
}

/* -- systemd ---------------------------------------------------------------------------------- */

static bool is_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

static int systemd_list(tree_report *report, void *context)
{
	char *argv[] = {"systemctl", "list-units", "--type=service,timer", "--state=running,waiting",
			"--plain", "--no-legend", "--no-pager", NULL};
	static char output[OUTPUT];
	int result = 0;

	if (run_as_init(argv, output, sizeof(output)))
		return 0;
	for (char *line = output, *next; *line && !result; line = next) {
		size_t length = strcspn(line, "\n");
		next = line + length + (line[length] == '\n');
		line[length] = '\0';
		line[strcspn(line, " ")] = '\0';
		if (is_named(line) && !is_kept(line))
			result = report(context, line, "running");
	}
	return result;
}

static int systemd_value(const char *name, char *value, size_t size)
{
	char unit[160], output[256];
	char *argv[] = {"systemctl", "show", "-p", "LoadState", "-p", "ActiveState", unit, NULL};
	bool active;
	int error;

	snprintf(unit, sizeof(unit), "%s", name);
	error = run_as_init(argv, output, sizeof(output));
	active = strstr(output, "ActiveState=active") || strstr(output, "ActiveState=activating") ||
		 strstr(output, "ActiveState=reloading");
	if (error || (!active && !strstr(output, "LoadState=loaded")))
		return error ? error : -ENOENT;
	snprintf(value, size, active ? "running" : "stopped");
	return 0;
}

static int systemd_set(const char *name, bool on)
{
	char unit[160];
	char *argv[] = {"systemctl", on ? "start" : "stop", unit, NULL};

	snprintf(unit, sizeof(unit), "%s", name);
	return run_as_init(argv, NULL, 0);
}

/* -- OpenRC ----------------------------------------------------------------------------------- */

static bool is_openrc(void)
{
	return access("/run/openrc/softlevel", F_OK) == 0;
}

static int openrc_value(const char *name, char *value, size_t size)
{
	char path[192];

	snprintf(path, sizeof(path), "/etc/init.d/%s", name);
	if (access(path, X_OK) < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "/run/openrc/started/%s", name);
	snprintf(value, size, access(path, F_OK) == 0 ? "running" : "stopped");
	return 0;
}

static int openrc_set(const char *name, bool on)
{
	char service[160];
	char *argv[] = {"rc-service", service, on ? "start" : "stop", NULL};

	snprintf(service, sizeof(service), "%s", name);
	return run_as_init(argv, NULL, 0);
}

/* -- runit ------------------------------------------------------------------------------------ */

static const char *const runit_places[] = {"/run/runit/service", "/var/service", "/etc/service",
					   "/service"};

static const char *runit_place(void)
{
	for (size_t i = 0; i < sizeof(runit_places) / sizeof(runit_places[0]); i++) {
		DIR *directory = opendir(runit_places[i]);
		struct dirent *entry;
		bool found = false;
		char path[512];
		while (directory && !found && (entry = readdir(directory))) {
			snprintf(path, sizeof(path), "%s/%s/supervise/stat", runit_places[i],
				 entry->d_name);
			found = entry->d_name[0] != '.' && access(path, F_OK) == 0;
		}
		if (directory)
			closedir(directory);
		if (found)
			return runit_places[i];
	}
	return NULL;
}

static bool is_runit(void)
{
	return runit_place() != NULL;
}

static int runit_value(const char *name, char *value, size_t size)
{
	const char *place = runit_place();
	char path[256], text[64];

	snprintf(path, sizeof(path), "%s/%s/supervise/stat", place ? place : "", name);
	if (!place || file_read(path, text, sizeof(text)) < 0)
		return -ENOENT;
	snprintf(value, size, strncmp(text, "run", 3) == 0 ? "running" : "stopped");
	return 0;
}

static int runit_set(const char *name, bool on)
{
	const char *place = runit_place();
	char path[256];
	char *argv[] = {"sv", "-w", "10", on ? "start" : "stop", path, NULL};

	snprintf(path, sizeof(path), "%s/%s", place ? place : "", name);
	return run_as_init(argv, NULL, 0);
}

/* -- scripts in /etc/init.d -------------------------------------------------------------------- */

static bool is_scripts(void)
{
	return access("/etc/init.d", F_OK) == 0;
}

/* The process of a pid file. */
static bool pid_file_runs(const char *name)
{
	int64_t pid;
	char path[64];

	if (file_numberf(&pid, "/run/%s.pid", name) && file_numberf(&pid, "/var/run/%s.pid", name) &&
	    file_numberf(&pid, "/run/%s/%s.pid", name, name))
		return false;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return pid > 1 && access(path, F_OK) == 0;
}

static int scripts_value(const char *name, char *value, size_t size)
{
	const char *plain = plain_name(name);
	char path[192];
	struct stat state;

	snprintf(path, sizeof(path), "/etc/init.d/%s", name);
	if (stat(path, &state) < 0 || !S_ISREG(state.st_mode) || !(state.st_mode & 0111))
		return -ENOENT;
	snprintf(value, size,
		 pid_file_runs(plain) || processes_called(plain) > 0 ? "running" : "stopped");
	return 0;
}

static int scripts_set(const char *name, bool on)
{
	char path[192];
	char *argv[] = {path, on ? "start" : "stop", NULL};

	snprintf(path, sizeof(path), "/etc/init.d/%s", name);
	return run_as_init(argv, NULL, 0);
}

/* -- the tree --------------------------------------------------------------------------------- */

static const struct init {
	bool (*is)(void);
	const char *place; /* with the name of each service; NULL for one that lists them itself */
	const char *(*where)(void);
	int (*list)(tree_report *report, void *context);
	int (*value_of)(const char *name, char *value, size_t size);
	int (*set)(const char *name, bool on);
} inits[] = {
	{is_systemd, NULL, NULL, systemd_list, systemd_value, systemd_set},
	{is_openrc, "/run/openrc/started", NULL, NULL, openrc_value, openrc_set},
	{is_runit, NULL, runit_place, NULL, runit_value, runit_set},
	{is_scripts, "/etc/init.d", NULL, NULL, scripts_value, scripts_set},
};

static const struct init *init_of(void)
{
	for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++)
		if (inits[i].is())
			return &inits[i];
	return NULL;
}

static int value_of(const char *name, char *value, size_t size)
{
	const struct init *init = init_of();

	if (!init || !is_named(name) || is_kept(name))
		return -ENOENT;
	processes_look();
	return init->value_of(name, value, size);
}

static int list(tree_report *report, void *context)
{
	const struct init *init = init_of();
	const char *place = !init ? NULL : init->where ? init->where() : init->place;
	DIR *directory = place ? opendir(place) : NULL;
	struct dirent *entry;
	int result = 0, count = 0;

	processes_look();
	if (init && init->list)
		result = init->list(report, context);
	while (directory && !result && count < SERVICES_MAX && (entry = readdir(directory))) {
		char value[16];
		if (!is_named(entry->d_name) || is_kept(entry->d_name) ||
		    init->value_of(entry->d_name, value, sizeof(value)) ||
		    strcmp(value, "running") != 0)
			continue;
		result = report(context, entry->d_name, value);
		count++;
	}
	if (directory)
		closedir(directory);
	return result;
}

/* A script returns before what it starts or ends has. */
static int write_service(const char *name, const char *value)
{
	const struct init *init = init_of();
	bool on = strcmp(value, "running") == 0;
	uint64_t deadline;
	char now[16];
	int error = value_of(name, now, sizeof(now)), failed;

	if (error)
		return error;
	if (!on && strcmp(value, "stopped") != 0)
		return -EINVAL;
	if (geteuid() != 0)
		return -EPERM;
	failed = init->set(name, on);
	deadline = clock_ns() + (uint64_t)SETTLE_MS * 1000000;
	do {
		error = value_of(name, now, sizeof(now));
		if (error || strcmp(now, value) == 0)
			return error;
		poll(NULL, 0, LOOK_MS);
	} while (clock_ns() < deadline);
	return failed ? failed : -EIO;
}

const struct tree services_tree = {root, list, value_of, write_service};
