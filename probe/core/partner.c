/* The other end of a benchmark with two ends. See partner.h. */
#include "core/partner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

pid_t partner_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it is gone already */
			_exit(0);
	}
	return pid;
}

int partner_start(struct partner *p, struct run *run,
		  void (*serve)(struct partner *p, void *context), void *context)
{
	const char *id = run->benchmark->id;

	*p = (struct partner){.to = {-1, -1}, .from = {-1, -1}};
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED) {
		p->shared = NULL;
		return json_error(1, errno, "%s: no memory to share between two processes", id);
	}
	if (pipe2(p->to, O_CLOEXEC) < 0 || pipe2(p->from, O_CLOEXEC) < 0)
		return json_error(77, errno, "%s: cannot make pipes: raise the limit on open files "
					     "(ulimit -n)", id);
	p->pid = partner_fork();
	if (p->pid < 0)
		return json_error(77, errno, "%s: cannot start a second process: raise the limit "
					     "on processes (ulimit -u), or free memory", id);
	if (p->pid == 0) {
		close_end(&p->to[1]);
		close_end(&p->from[0]);
		if (place_pin(run->place.partner) == 0)
			serve(p, context);
		_exit(0);
	}
	close_end(&p->to[0]);
	close_end(&p->from[1]);
	return 0;
}

void partner_stop(struct partner *p)
{
	if (!p->shared)
		return;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		close_end(&p->to[i]);
		close_end(&p->from[i]);
	}
	munmap(p->shared, sizeof(*p->shared));
	p->shared = NULL;
	p->pid = 0;
}

void partner_note_self(struct partner *p)
{
	atomic_store_explicit(&p->shared->cpu, sched_getcpu(), memory_order_relaxed);
}

void partner_look(struct partner *p)
{
	p->meetings++;
	p->same_cpu +=
		atomic_load_explicit(&p->shared->cpu, memory_order_relaxed) == sched_getcpu();
}

void partner_describe(struct partner *p, struct json *j)
{
	if (p->meetings > 0)
		json_number(j, "same_cpu", (double)p->same_cpu / (double)p->meetings);
	p->meetings = p->same_cpu = 0;
}
