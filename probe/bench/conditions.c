/* Under which conditions a thread waits. See conditions.h. */
#include "bench/conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/partner.h"

enum { LOAD_BYTES = 16 << 20, LOAD_STRIDE = 32 };

/* --- policy ---------------------------------------------------------------------------------- */

/* By number: the function of this name does nothing in musl but fail. */
static int set_policy(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return syscall(SYS_sched_setscheduler, 0, policy, &param) < 0 ? -errno : 0;
}

static int refuse_policy(const struct run *run, int error)
{
	return json_error(77, error, "%s: policy=fifo is not permitted: be root, raise the limit on "
				     "real-time priority (ulimit -r), or give the control group "
				     "real-time runtime (cpu.rt_runtime_us)", run->benchmark->id);
}

/* --- load ------------------------------------------------------------------------------------ */

static _Noreturn void compute(void)
{
	volatile unsigned number = 1;

	for (;;)
		number = number * 1664525u + 1013904223u;
}

static void write_once(volatile uint64_t *words, uint64_t value)
{
	for (size_t i = 0; i < LOAD_BYTES / sizeof(*words); i += LOAD_STRIDE / sizeof(*words))
		words[i] = value;
}

/* Says that it runs, with its memory there, and never comes back. */
static _Noreturn void be_load(int cpu, volatile uint64_t *words, int say)
{
	if (place_pin(cpu) < 0)
		_exit(1); /* unplugged meanwhile: there is nothing to load */
	if (words)
		write_once(words, 1);
	if (write(say, "", 1) != 1)
		_exit(1);
	if (!words)
		compute();
	for (uint64_t turn = 2;; turn++)
		write_once(words, turn);
}

static int fork_loads(struct conditions *c, const struct run *run, uint64_t *words, int say)
{
	static int cpus[CPU_SETSIZE];
	int count = place_list(run->place.cpu, cpus);

	for (int i = 0; i < count; i++) {
		if (cpus[i] < 0) /* place=free has no CPU of its own */
			continue;
		pid_t pid = partner_fork();
		if (pid < 0)
			return json_error(77, errno, "%s: cannot start a process for each CPU "
						     "(see ulimit -u)", run->benchmark->id);
		if (pid == 0)
			be_load(cpus[i], words, say);
		c->loads[c->load_count++] = pid;
	}
	return 0;
}

static int start_loads(struct conditions *c, const struct run *run)
{
	uint64_t *words = NULL;
	int said[2], status;
	char byte;

	if (arg_is(&run->args, "load", "none"))
		return 0;
	if (arg_is(&run->args, "load", "memory")) { /* each child writes a copy of its own */
		words = mmap(NULL, LOAD_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (words == MAP_FAILED)
			return json_error(77, errno, "%s: no memory for load=memory",
					  run->benchmark->id);
	}
	if (pipe2(said, O_CLOEXEC) < 0)
		return json_error(1, errno, "%s: cannot make a pipe", run->benchmark->id);
	status = fork_loads(c, run, words, said[1]);
	close(said[1]); /* or its end would never be seen */
	for (int i = 0; i < c->load_count && status == 0; i++)
		if (file_read_byte(said[0], &byte) != 1)
			status = json_error(1, EIO, "%s: a process of the load ended early",
					    run->benchmark->id);
	close(said[0]);
	if (words)
		munmap(words, LOAD_BYTES);
	return status;
}

/* --- idle states ----------------------------------------------------------------------------- */

static const char dma_path[] = "/dev/cpu_dma_latency";

/* linux/pm_qos.h: what stands there when nobody has asked for anything, 2000 s. */
enum { DMA_NO_LIMIT = 2000 * 1000000 };

static int hold_idle_states(struct conditions *c, const struct run *run)
{
	const int32_t zero = 0;
	bool hold = arg_is(&run->args, "dma_latency", "zero");
	int fd = open(dma_path, (hold ? O_RDWR : O_RDONLY) | O_CLOEXEC);

	c->dma_error = fd < 0 ? errno : 0;
	if (fd >= 0 && read(fd, &c->dma_us, sizeof(c->dma_us)) != sizeof(c->dma_us))
		c->dma_error = EIO;
	if (!hold) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	c->dma_fd = fd;
	if (fd >= 0 && write(fd, &zero, sizeof(zero)) == sizeof(zero))
		return 0;
	return json_error(77, errno, "%s: dma_latency=zero needs to write %s, which only root may",
			  run->benchmark->id, dma_path);
}

static void describe_dma(const struct conditions *c, struct json *j)
{
	char reason[64];

	if (c->dma_error) {
		snprintf(reason, sizeof(reason), "%s: %s", dma_path, errno_name(c->dma_error));
		json_na(j, "dma_latency_us", reason);
	} else if (c->dma_us >= DMA_NO_LIMIT) {
		json_na(j, "dma_latency_us", "no limit: nobody had asked for one");
	} else {
		json_signed(j, "dma_latency_us", c->dma_us);
	}
}

static ssize_t idle_name(const struct run *run, int state, char *name, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/name",
		 run->place.cpu < 0 ? 0 : run->place.cpu, state);
	return file_read(path, name, size);
}

static void describe_idle_states(const struct run *run, struct json *j)
{
	char name[32];

	if (idle_name(run, 0, name, sizeof(name)) <= 0) {
		json_na(j, "idle_states", "the kernel shows none (no cpuidle)");
		return;
	}
	json_open(j, "idle_states", '[');
	for (int state = 0; state < 16 && idle_name(run, state, name, sizeof(name)) > 0; state++) {
		int64_t us;
		json_open(j, NULL, '{');
		json_string(j, "name", name);
		if (file_numberf(&us, "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/latency",
				 run->place.cpu < 0 ? 0 : run->place.cpu, state) == 0)
			json_signed(j, "exit_us", us);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* --- all of them ----------------------------------------------------------------------------- */

int conditions_setup(struct conditions *c, struct run *run)
{
	uint64_t slack = arg_number(&run->args, "slack_ns");
	char name[32];
	int status;

	*c = (struct conditions){
		.dma_fd = -1,
		.fifo = arg_is(&run->args, "policy", "fifo"),
		.priority = (int)arg_number(&run->args, "priority"),
		.stolen = -1,
	};
	if (c->fifo) {
		int error = set_policy(SCHED_FIFO, c->priority);
		if (error)
			return refuse_policy(run, -error);
		set_policy(SCHED_OTHER, 0);
	}
	if (slack != AUTO && prctl(PR_SET_TIMERSLACK, (unsigned long)slack) < 0)
		return json_error(77, errno, "%s: this kernel lets no timer slack be set",
				  run->benchmark->id);
	status = hold_idle_states(c, run);
	if (status)
		return status;
	if (c->dma_fd >= 0 && idle_name(run, 1, name, sizeof(name)) <= 0)
		run_caveat(run, "dma_latency=zero changed nothing that the kernel knows of: it has "
				"no idle states to choose from here");
	run->loads_others = !arg_is(&run->args, "load", "none");
	status = start_loads(c, run);
	/* What exists now is all that the waiting needs; MCL_FUTURE could make a later malloc fail. */
	c->lock_error = mlockall(MCL_CURRENT) < 0 ? errno : 0;
	return status;
}

void conditions_undo(struct conditions *c)
{
	for (int i = 0; i < c->load_count; i++)
		kill(c->loads[i], SIGKILL);
	for (int i = 0; i < c->load_count; i++)
		waitpid(c->loads[i], NULL, 0);
	c->load_count = 0;
	if (c->dma_fd > STDERR_FILENO) /* not 0: so is what was never set up */
		close(c->dma_fd);      /* which ends the use */
	c->dma_fd = -1;
}

/* Ticks stolen from one CPU since the system started: eighth figure of its line. */
static int64_t stolen_ticks(int cpu)
{
	static char text[65536];
	char name[16];
	unsigned long long steal;

	if (cpu < 0 || file_read("/proc/stat", text, sizeof(text)) <= 0)
		return -1;
	snprintf(name, sizeof(name), "\ncpu%d ", cpu);
	char *line = strstr(text, name);
	if (!line || sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		return -1;
	return (int64_t)steal;
}

int conditions_enter(struct conditions *c, const struct run *run)
{
	c->stolen = stolen_ticks(run->place.cpu);
	if (c->fifo) {
		int error = set_policy(SCHED_FIFO, c->priority);
		if (error)
			return refuse_policy(run, -error);
	}
	return 0;
}

void conditions_leave(struct conditions *c, const struct run *run)
{
	if (c->fifo)
		set_policy(SCHED_OTHER, 0);
	if (c->stolen >= 0) {
		int64_t now = stolen_ticks(run->place.cpu);
		c->stolen = now < c->stolen ? -1 : now - c->stolen;
	}
}

void conditions_describe(const struct conditions *c, const struct run *run, struct json *j)
{
	int slack = prctl(PR_GET_TIMERSLACK);

	if (slack >= 0)
		json_signed(j, "timer_slack_ns", slack);
	else
		json_na(j, "timer_slack_ns", errno_name(errno));
	describe_dma(c, j);
	if (c->lock_error)
		json_na(j, "memory_locked", errno_name(c->lock_error));
	else
		json_true(j, "memory_locked");
	describe_idle_states(run, j);
}

void conditions_detail(const struct conditions *c, struct json *j)
{
	if (c->stolen >= 0)
		json_unsigned(j, "stolen_ns",
			      (uint64_t)c->stolen * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	else
		json_na(j, "stolen_ns", "no such account in /proc/stat");
}
