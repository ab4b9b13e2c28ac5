/* os.syscall. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/clock.h"

enum { POLLED_MAX = 1024 };

struct calls {
	bool (*loop)(const struct calls *calls, uint64_t iterations);
	int zero, null;
	int silent[2]; /* a pipe that nobody writes to */
	long clock_number;
	nfds_t polled_count;
	struct pollfd polled[POLLED_MAX];
};

/* syscall(2) by number: a C library may answer from its own memory, or make several calls of one
 * (musl's open() sets FD_CLOEXEC a second time). It takes six arguments whatever the call has,
 * which is a twentieth of the emptiest one; that is made as perf bench and lmbench make it, and no
 * library keeps the answer. A loop ends when a call fails: an error is quicker than the call. */
static bool loop_getppid(const struct calls *c, uint64_t n)
{
	(void)c;
	while (n--)
		getppid();
	return true;
}

static bool loop_read(const struct calls *c, uint64_t n)
{
	char byte;

	while (n--)
		if (syscall(SYS_read, c->zero, &byte, 1) != 1)
			return false;
	return true;
}

static bool loop_write(const struct calls *c, uint64_t n)
{
	char byte = 0;

	while (n--)
		if (syscall(SYS_write, c->null, &byte, 1) != 1)
			return false;
	return true;
}

#if defined(SYS_newfstatat)
enum { SYS_STAT = SYS_newfstatat, SYS_FSTAT = SYS_fstat };
#else
enum { SYS_STAT = SYS_fstatat64, SYS_FSTAT = SYS_fstat64 };
#endif

static bool loop_stat(const struct calls *c, uint64_t n)
{
	_Alignas(8) char st[256]; /* the kernel's own struct, which no header shows */

	(void)c;
	while (n--)
		if (syscall(SYS_STAT, AT_FDCWD, "/dev/null", st, 0) != 0)
			return false;
	return true;
}

static bool loop_fstat(const struct calls *c, uint64_t n)
{
	_Alignas(8) char st[256];

	while (n--)
		if (syscall(SYS_FSTAT, c->null, st) != 0)
			return false;
	return true;
}

static bool loop_open(const struct calls *c, uint64_t n)
{
	(void)c;
	while (n--) {
		long fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
		if (fd < 0)
			return false;
		syscall(SYS_close, fd);
	}
	return true;
}

static bool loop_bad_close(const struct calls *c, uint64_t n)
{
	(void)c;
	while (n--)
		if (syscall(SYS_close, -1) == 0 || errno != EBADF)
			return false;
	return true;
}

/* Newer architectures have ppoll alone. All zero is no waiting, be its time of 32 bits or 64. */
static bool loop_poll(const struct calls *c, uint64_t n)
{
	while (n--) {
#if defined(SYS_poll)
		long ready = syscall(SYS_poll, c->polled, c->polled_count, 0);
#else
		long long at_once[2] = {0, 0};
		long ready = syscall(SYS_ppoll, c->polled, c->polled_count, at_once, NULL, 0);
#endif
		if (ready != 0)
			return false;
	}
	return true;
}

static bool loop_clock(const struct calls *c, uint64_t n)
{
	long long now[2]; /* room for either size of time */

	while (n--)
		if (syscall(c->clock_number, CLOCK_MONOTONIC, now) != 0)
			return false;
	return true;
}

static bool loop_vdso(const struct calls *c, uint64_t n)
{
	struct timespec now;

	(void)c;
	while (n--)
		if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
			return false;
	return true;
}

/* 32-bit systems got the call with 64-bit time in Linux 5.1. */
static long clock_number(void)
{
#if defined(SYS_clock_gettime64) && !defined(__LP64__)
	long long now[2];

	if (syscall(SYS_clock_gettime64, CLOCK_MONOTONIC, now) == 0)
		return SYS_clock_gettime64;
	return SYS_clock_gettime32;
#else
	return SYS_clock_gettime;
#endif
}

static void set_up_poll(struct calls *c, uint64_t count)
{
	if (pipe2(c->silent, O_CLOEXEC) < 0)
		c->silent[0] = c->silent[1] = -1;
	c->polled_count = (nfds_t)count;
	for (uint64_t i = 0; i < count; i++)
		c->polled[i] = (struct pollfd){.fd = c->silent[0], .events = POLLIN};
}

static int setup_syscall(struct run *run)
{
	static const struct {
		const char *name;
		bool (*loop)(const struct calls *, uint64_t);
	} loops[] = {
		{"getppid", loop_getppid}, {"read", loop_read},   {"write", loop_write},
		{"stat", loop_stat},       {"fstat", loop_fstat}, {"open", loop_open},
		{"bad_close", loop_bad_close}, {"poll", loop_poll}, {"clock", loop_clock},
		{"vdso", loop_vdso},
	};
	const char *call = arg_text(&run->args, "call");
	struct calls *c = calloc(1, sizeof(*c));

	run->state = c;
	if (!c)
		return json_error(1, ENOMEM, "os.syscall: no memory");
	c->zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	c->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	c->clock_number = clock_number();
	set_up_poll(c, arg_number(&run->args, "polled"));
	if (strcmp(call, "vdso") == 0 && getauxval(AT_SYSINFO_EHDR) == 0)
		run_caveat(run, "there is no vDSO here: the C library asks the kernel, so call=vdso "
				"is call=clock");
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		if (strcmp(call, loops[i].name) == 0)
			c->loop = loops[i].loop;
	if (!c->loop(c, 1))
		return json_error(77, errno, "os.syscall: call=%s fails here: see whether "
					     "/dev/zero and /dev/null are there, and descriptors "
					     "left (ulimit -n); call=getppid needs nothing", call);
	return 0;
}

static int batch_syscall(struct run *run, uint64_t iterations)
{
	const struct calls *c = run->state;
	uint64_t begin = clock_ns();
	bool all_well = c->loop(c, iterations);

	run->elapsed_ns = clock_ns() - begin;
	if (all_well)
		return 0;
	return json_error(1, errno, "os.syscall: call=%s failed in the middle of a batch",
			  arg_text(&run->args, "call"));
}

static void teardown_syscall(struct run *run)
{
	struct calls *c = run->state;

	if (c) {
		const int fds[] = {c->zero, c->null, c->silent[0], c->silent[1]};
		for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	free(c);
}

static const struct param syscall_params[] = {
	{"call", PARAM_CHOICE, "getppid", 0, 0,
	 "getppid read write stat fstat open bad_close poll clock vdso",
	 "getppid: entry and exit only; read: one byte of /dev/zero; write: one byte to /dev/null; "
	 "stat: fstatat of /dev/null; fstat: the same by descriptor; open: openat of /dev/null, and "
	 "close; bad_close: close of a descriptor that is not open; poll: of pipes with nothing to "
	 "read, without waiting; clock: clock_gettime(CLOCK_MONOTONIC) by the kernel; vdso: the "
	 "same by the C library, which need not enter the kernel"},
	{"polled", PARAM_INTEGER, "10", 1, POLLED_MAX, NULL,
	 "how many descriptors call=poll asks for: one pipe, named so many times"},
	{0},
};

const struct benchmark os_syscall = {
	.id = "os.syscall",
	.summary = "how long a system call takes",
	.unit = "ns",
	.better = "lower",
	.counted = "a call (open: the pair of open and close)",
	.method = "the call by its number, over and over, with warm caches; of the C library "
		  "only syscall() is in between (vdso: the library's clock_gettime)",
	.pitfalls = "mitigations of CPU faults dominate the value: compare them before blaming "
		    "the kernel; seccomp, auditing and tracing add to each call; vdso is as slow "
		    "as clock where the clock source cannot be read without the kernel",
	.not_measured = "calls with cold caches, as programs make them between other work; the "
			"lookup of a long path",
	.reference = "perf bench syscall basic, lat_syscall null, read and write: within 5 %; "
		"lat_syscall stat, fstat and open, by which calls its C library takes: "
		"within 20 %",
	.params = syscall_params,
	.setup = setup_syscall,
	.batch = batch_syscall,
	.value = value_ns_per_iteration,
	.teardown = teardown_syscall,
};
