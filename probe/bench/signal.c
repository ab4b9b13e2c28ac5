/* os.signal. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/clock.h"

/* What the handlers see. */
static volatile uint64_t caught;
static volatile uint64_t last_fault; /* after so many the page is opened */
static char *volatile guarded;
static size_t page_size;
static bool (*loop)(uint64_t iterations);

static void on_signal(int signal)
{
	(void)signal;
	caught++;
}

/* The write that faulted is tried again when the handler returns, and faults again, until the page
 * may be written: a jump out of the handler would leave the half of the way back unmeasured. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_addr != guarded) {
		struct sigaction usual = {.sa_handler = SIG_DFL};
		sigaction(signal, &usual, NULL); /* a fault of our own: end as one */
		return;
	}
	if (++caught == last_fault)
		mprotect(guarded, page_size, PROT_READ | PROT_WRITE);
}

static bool loop_install(uint64_t n)
{
	struct sigaction action = {.sa_handler = on_signal};

	while (n--)
		if (sigaction(SIGUSR1, &action, NULL) < 0)
			return false;
	return true;
}

static bool loop_catch(uint64_t n)
{
	long self = syscall(SYS_gettid), process = getpid();
	uint64_t wanted = n;

	caught = 0;
	while (n--)
		if (syscall(SYS_tgkill, process, self, SIGUSR1) < 0)
			return false;
	return caught == wanted;
}

static bool loop_fault(uint64_t n)
{
	caught = 0;
	last_fault = n;
	*guarded = 1;
	return caught == n;
}

static void unblock(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int setup_signal(struct run *run)
{
	struct sigaction on_usr1 = {.sa_handler = on_signal};
	struct sigaction on_segv = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	loop = arg_is(&run->args, "call", "install") ? loop_install
	     : arg_is(&run->args, "call", "catch") ? loop_catch : loop_fault;
	if (loop == loop_fault) {
		page_size = (size_t)sysconf(_SC_PAGESIZE);
		guarded = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (guarded == MAP_FAILED)
			return json_error(1, errno, "os.signal: no memory for a page");
		*guarded = 1; /* it is there: what is left to fault about is the permission */
		sigaction(SIGSEGV, &on_segv, NULL);
		unblock(SIGSEGV);
	} else {
		sigaction(SIGUSR1, &on_usr1, NULL);
		unblock(SIGUSR1);
	}
	return 0;
}

static int batch_signal(struct run *run, uint64_t iterations)
{
	uint64_t begin;
	bool all_well;

	if (loop == loop_fault && mprotect(guarded, page_size, PROT_READ) < 0)
		return json_error(1, errno, "os.signal: cannot protect a page");
	begin = clock_ns();
	all_well = loop(iterations);
	run->elapsed_ns = clock_ns() - begin;
	if (all_well)
		return 0;
	return json_error(1, errno, "os.signal: a signal of call=%s did not arrive",
			  arg_text(&run->args, "call"));
}

static const struct param signal_params[] = {
	{"call", PARAM_CHOICE, "catch", 0, 0, "install catch fault",
	 "install: sigaction; catch: a signal sent to oneself, with its handler; fault: a write to "
	 "a page that may not be written, with the handler that it ends in"},
	{0},
};

const struct benchmark os_signal = {
	.id = "os.signal",
	.summary = "how long it takes to install a signal handler, and to come into one and back",
	.unit = "ns",
	.better = "lower",
	.counted = "a sigaction, a signal or a fault, until the program goes on",
	.method = "install: sigaction(2) over and over; catch: tgkill(2) of the own thread, whose "
		  "handler counts and returns; fault: a write to a read-only page, whose handler "
		  "counts and returns to the same write. The handlers' count is checked",
	.pitfalls = "the registers that the kernel must save grow with the vector unit (AVX-512, "
		    "SVE) once a process has used it; mitigations of CPU faults count several "
		    "times, as a signal enters the kernel more than once",
	.not_measured = "signals to other processes, which contain a wake-up (os.futex and "
			"os.eventfd are closer); queued real-time signals",
	.reference = "lat_sig install: within 10 %; lat_sig catch and prot subtract what the sending and "
		"the handler take, which are contained here",
	.params = signal_params,
	.setup = setup_signal,
	.batch = batch_signal,
	.value = value_ns_per_iteration,
};
