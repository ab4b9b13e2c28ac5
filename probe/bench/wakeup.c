/* os.futex, os.eventfd and os.semaphore: two threads or processes that wake each other. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/clock.h"
#include "core/partner.h"

/* What one end gives to the other. STOP is for the partner at the end, and for ourselves when the
 * partner is gone: nobody else would wake us. */
enum { NOTHING, TURN, STOP };
enum { OURS, PARTNERS, ENDS };

struct word {
	_Alignas(128) _Atomic uint32_t value; /* no cache line holds two */
	sem_t semaphore;
};

struct wakeup {
	void (*give)(const struct wakeup *w, int end, uint32_t what);
	bool (*take)(const struct wakeup *w, int end); /* false: it was STOP */
	struct word *words; /* shared by both ends */
	int private_flag;
	int fd[ENDS];
	int cpu; /* of the partner */
	bool unpinned;
	bool threads;
	bool has_thread;
	pthread_t thread;
	struct partner partner;
	struct partner_shared shared; /* the partner's, when it is a thread */
};

/* --- futex ----------------------------------------------------------------------------------- */

static long futex(const struct wakeup *w, int end, int operation, uint32_t value)
{
	return syscall(SYS_futex, &w->words[end].value, operation | w->private_flag, value, NULL,
		       NULL, 0);
}

static void give_futex(const struct wakeup *w, int end, uint32_t what)
{
	atomic_store(&w->words[end].value, what);
	futex(w, end, FUTEX_WAKE, 1);
}

static bool take_futex(const struct wakeup *w, int end)
{
	_Atomic uint32_t *value = &w->words[end].value;
	uint32_t what;

	while ((what = atomic_load(value)) == NOTHING)
		futex(w, end, FUTEX_WAIT, NOTHING);
	if (what == TURN)
		atomic_compare_exchange_strong(value, &what, NOTHING); /* unless STOP by now */
	return what == TURN;
}

/* --- eventfd --------------------------------------------------------------------------------- */

static void give_eventfd(const struct wakeup *w, int end, uint32_t what)
{
	uint64_t value = what;

	while (write(w->fd[end], &value, sizeof(value)) < 0 && errno == EINTR)
		continue;
}

static bool take_eventfd(const struct wakeup *w, int end)
{
	uint64_t value = STOP;

	while (read(w->fd[end], &value, sizeof(value)) < 0 && errno == EINTR)
		continue;
	return value == TURN; /* what was given meanwhile adds up */
}

/* --- semaphore ------------------------------------------------------------------------------- */

static void give_semaphore(const struct wakeup *w, int end, uint32_t what)
{
	if (what == STOP)
		atomic_store(&w->words[end].value, STOP);
	sem_post(&w->words[end].semaphore);
}

static bool take_semaphore(const struct wakeup *w, int end)
{
	while (sem_wait(&w->words[end].semaphore) < 0 && errno == EINTR)
		continue;
	return atomic_load(&w->words[end].value) != STOP;
}

/* --- all of them ----------------------------------------------------------------------------- */

static const struct wakeup *watched;

static void on_child_gone(int signal)
{
	int error = errno;

	(void)signal;
	watched->give(watched, OURS, STOP);
	errno = error;
}

/* Whatever happens to SIGCHLD by inheritance, here it must arrive. */
static void watch_partner(const struct wakeup *w)
{
	struct sigaction action = {.sa_handler = on_child_gone, .sa_flags = SA_NOCLDSTOP};
	sigset_t set;

	watched = w;
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void answer(struct partner *p, void *context)
{
	const struct wakeup *w = context;

	w->give(w, OURS, TURN); /* here we are */
	for (uint64_t i = 0; w->take(w, PARTNERS); i++) {
		if (w->unpinned && i % LOOK_EVERY == 0)
			partner_note_self(p);
		w->give(w, OURS, TURN);
	}
}

static void *answer_in_thread(void *context)
{
	struct wakeup *w = context;

	if (place_pin(w->cpu) == 0)
		answer(&w->partner, w);
	else
		w->give(w, OURS, STOP);
	return NULL;
}

static int start_partner(struct run *run, struct wakeup *w)
{
	if (!w->threads) {
		watch_partner(w);
		return partner_start(&w->partner, run, answer, w);
	}
	w->partner.shared = &w->shared;
	errno = pthread_create(&w->thread, NULL, answer_in_thread, w);
	w->has_thread = errno == 0;
	if (w->has_thread)
		return 0;
	return json_error(77, errno, "%s: cannot start a second thread: raise the limit on "
				     "processes (ulimit -u), or free memory", run->benchmark->id);
}

static int partner_lost(const struct run *run)
{
	return json_error(1, EPIPE, "%s: the other end went away: it was killed, or its CPU was "
				    "taken away", run->benchmark->id);
}

/* `w` has its way to give and take. */
static int set_up(struct run *run, struct wakeup *w)
{
	int status;

	w->cpu = run->place.partner;
	w->unpinned = run->place.cpu < 0;
	w->threads = arg_is(&run->args, "ends", "threads");
	w->private_flag = w->threads ? FUTEX_PRIVATE_FLAG : 0;
	w->words = mmap(NULL, ENDS * sizeof(*w->words), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->words == MAP_FAILED) {
		w->words = NULL;
		return json_error(1, errno, "%s: no memory to share", run->benchmark->id);
	}
	for (int end = 0; end < ENDS; end++)
		sem_init(&w->words[end].semaphore, !w->threads, 0);
	status = start_partner(run, w);
	if (status)
		return status;
	return w->take(w, OURS) ? 0 : partner_lost(run);
}

static struct wakeup *new_wakeup(struct run *run)
{
	struct wakeup *w = calloc(1, sizeof(*w));

	run->state = w;
	if (w)
		w->fd[OURS] = w->fd[PARTNERS] = -1;
	return w;
}

static int setup_futex(struct run *run)
{
	struct wakeup *w = new_wakeup(run);

	if (!w)
		return json_error(1, ENOMEM, "os.futex: no memory");
	w->give = give_futex;
	w->take = take_futex;
	uint32_t word = NOTHING;
	if (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
		return json_error(77, errno, "os.futex: this kernel has no futexes");
	return set_up(run, w);
}

static int setup_eventfd(struct run *run)
{
	struct wakeup *w = new_wakeup(run);

	if (!w)
		return json_error(1, ENOMEM, "os.eventfd: no memory");
	w->give = give_eventfd;
	w->take = take_eventfd;
	for (int end = 0; end < ENDS; end++)
		if ((w->fd[end] = eventfd(0, EFD_CLOEXEC)) < 0)
			return json_error(77, errno, "os.eventfd: cannot make one: the kernel "
						     "lacks it, or the limit on open files "
						     "(ulimit -n) is reached");
	return set_up(run, w);
}

static int setup_semaphore(struct run *run)
{
	struct wakeup *w = new_wakeup(run);

	if (!w)
		return json_error(1, ENOMEM, "os.semaphore: no memory");
	w->give = give_semaphore;
	w->take = take_semaphore;
	return set_up(run, w);
}

static int batch_wakeup(struct run *run, uint64_t iterations)
{
	struct wakeup *w = run->state;
	uint64_t begin = clock_ns();

	for (uint64_t i = 0; i < iterations; i++) {
		w->give(w, PARTNERS, TURN);
		if (!w->take(w, OURS))
			return partner_lost(run);
		if (w->unpinned && i % LOOK_EVERY == 0)
			partner_look(&w->partner);
	}
	run->elapsed_ns = clock_ns() - begin;
	return 0;
}

static void detail_wakeup(const struct run *run, struct json *j)
{
	struct wakeup *w = run->state;

	partner_describe(&w->partner, j);
}

static void teardown_wakeup(struct run *run)
{
	struct wakeup *w = run->state;

	if (!w)
		return;
	if (w->threads) {
		if (w->has_thread) {
			w->give(w, PARTNERS, STOP);
			pthread_join(w->thread, NULL);
		}
	} else {
		signal(SIGCHLD, SIG_DFL);
		partner_stop(&w->partner);
	}
	for (int end = 0; end < ENDS; end++)
		if (w->fd[end] >= 0)
			close(w->fd[end]);
	if (w->words)
		munmap(w->words, ENDS * sizeof(*w->words));
	free(w);
}

/* --- the benchmarks -------------------------------------------------------------------------- */

static const struct param wakeup_params[] = {
	{"ends", PARAM_CHOICE, "threads", 0, 0, "threads processes",
	 "threads of one process, which share its memory, or two processes"},
	{"place", PARAM_CHOICE, "same", 0, 0, place_choices, place_summary},
	{0},
};

const struct benchmark os_futex = {
	.id = "os.futex",
	.summary = "how long two threads or processes take to wake each other by a futex",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: two wakes, two waits, two switches or wake-ups",
	.method = "each end sets the other's word, wakes it (FUTEX_WAKE) and waits for its own "
		  "(FUTEX_WAIT); no library's lock or condition is in between",
	.pitfalls = "placement: unpinned, the value is bimodal, up to ten times apart; on different "
		    "CPUs it contains leaving an idle state; an end whose word is set before it "
		    "waits does not sleep, as with any futex",
	.not_measured = "locks without contention, which do not enter the kernel; the queue in a "
			"mutex or condition variable; many waiters",
	.reference = "perf bench futex wake counts wakes without the switch; a loop of FUTEX_WAKE and "
		"FUTEX_WAIT: within 10 %",
	.params = wakeup_params,
	.switches = true,
	.setup = setup_futex,
	.batch = batch_wakeup,
	.value = value_ns_per_iteration,
	.detail = detail_wakeup,
	.teardown = teardown_wakeup,
};

const struct benchmark os_eventfd = {
	.id = "os.eventfd",
	.summary = "how long two threads or processes take to wake each other by eventfd",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: two writes, two reads, two switches or wake-ups",
	.method = "each end writes to the other's eventfd and reads its own, which blocks until "
		  "something is written",
	.pitfalls = "placement: unpinned, the value is bimodal, up to ten times apart; on different "
		    "CPUs it contains leaving an idle state",
	.not_measured = "poll and epoll around it, as event loops have them; eventfds as semaphores",
	.reference = "pipe.latency, which copies a byte besides; a loop of reads and writes of two "
		"eventfds: within 10 %",
	.params = wakeup_params,
	.switches = true,
	.setup = setup_eventfd,
	.batch = batch_wakeup,
	.value = value_ns_per_iteration,
	.detail = detail_wakeup,
	.teardown = teardown_wakeup,
};

const struct benchmark os_semaphore = {
	.id = "os.semaphore",
	.summary = "how long two threads or processes take to wake each other by a POSIX semaphore",
	.unit = "ns",
	.better = "lower",
	.counted = "a round trip: two posts, two waits, two switches or wake-ups",
	.method = "each end posts the other's semaphore (sem_post) and waits for its own (sem_wait); "
		  "both lie in memory that the ends share",
	.pitfalls = "placement: unpinned, the time is bimodal, up to ten times apart; on different "
		    "CPUs it contains leaving an idle state; musl spins a "
		    "hundred times before it sleeps: on one CPU that only delays the switch, on "
		    "two it may hide the kernel's part",
	.not_measured = "the board's own C library: the semaphores are those of musl, which is in the "
			"probe; named semaphores, System V semaphores, many waiters",
	.reference = "os.futex, which has no library in between; a loop of sem_post and sem_wait on "
		     "musl: within 10 %",
	.params = wakeup_params,
	.switches = true,
	.setup = setup_semaphore,
	.batch = batch_wakeup,
	.value = value_ns_per_iteration,
	.detail = detail_wakeup,
	.teardown = teardown_wakeup,
};
