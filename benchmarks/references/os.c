/* What lmbench's lat_* programs measure, in plain loops on the system's own C library: lmbench is
 * in no free distribution, and its results may be published of the unmodified program only.
 *
 *     os NAME ITERATIONS [SIZE [PROCESSES or PROGRAM]]
 *
 * prints the nanoseconds an iteration takes: the median of PARTS intervals, ITERATIONS in all. */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 21, PAGE = 4096 };

static size_t size;
static int processes;
static char *program; /* that exec starts, with the word `exit` */

static void must(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *map(size_t bytes, int protection)
{
	void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void no_setup(void) {}

/* --- calls and signals ------------------------------------------------------------------------ */

static void calls_fstat(long n)
{
	struct stat st;

	while (n--) /* by number: fstat() of newer glibc is fstatat with an empty path */
		must(syscall(SYS_fstat, 0, &st) == 0, "fstat");
}

static void nothing(int signal)
{
	(void)signal;
}

static void signals_install(long n)
{
	struct sigaction action = {.sa_handler = nothing}, old;

	while (n--)
		sigaction(SIGUSR1, &action, &old);
}

static void setup_catch(void)
{
	signal(SIGUSR1, nothing);
}

static void signals_catch(long n)
{
	pid_t process = getpid();

	while (n--)
		kill(process, SIGUSR1);
}

static sigjmp_buf out;
static volatile long faults_left;
static volatile char *guarded;

static void on_fault(int signal)
{
	(void)signal;
	if (--faults_left == 0)
		siglongjmp(out, 1);
}

static void setup_fault(void)
{
	guarded = map(PAGE, PROT_READ | PROT_WRITE);
	*guarded = 1;
	mprotect((void *)guarded, PAGE, PROT_READ);
	signal(SIGSEGV, on_fault);
}

static void signals_fault(long n)
{
	faults_left = n;
	if (sigsetjmp(out, 1) == 0)
		*guarded = 1;
}

/* --- processes and memory --------------------------------------------------------------------- */

static void setup_resident(void)
{
	if (size)
		memset(map(size, PROT_READ | PROT_WRITE), 1, size);
}

static void wait_for(pid_t child)
{
	int status;

	must(child > 0, "fork");
	waitpid(child, &status, 0);
	must(status == 0, "the child");
}

static void processes_fork(long n)
{
	while (n--) {
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		wait_for(child);
	}
}

static void processes_exec(long n)
{
	char *arguments[] = {program, (char *)"exit", NULL};

	while (n--) {
		pid_t child = fork();
		if (child == 0) {
			execve(program, arguments, arguments + 2);
			_exit(1);
		}
		wait_for(child);
	}
}

static void *end(void *argument)
{
	return argument;
}

static void threads(long n)
{
	while (n--) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, end, NULL) == 0, "pthread_create");
		pthread_join(thread, NULL);
	}
}

static void mappings(long n)
{
	while (n--) {
		volatile char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(p != MAP_FAILED, "mmap");
		*p = 1;
		munmap((void *)p, size);
	}
}

static volatile char *pages;

static void setup_pages(void)
{
	pages = map(size, PROT_READ | PROT_WRITE);
}

static void pages_anonymous(long n)
{
	for (long i = 0; i < n && (size_t)i < size / PAGE; i++)
		pages[(size_t)i * PAGE] = 1;
}

static void pages_back(void)
{
	madvise((void *)pages, size, MADV_DONTNEED);
}

/* --- one waits for the other ------------------------------------------------------------------ */

static int fds[2]; /* what is written to fds[0] comes from fds[1] of the other end, and back */
static unsigned *words;

static pid_t fork_tied(void)
{
	pid_t child = fork();

	must(child >= 0, "fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void start_child(void (*serve)(void))
{
	if (fork_tied() == 0)
		for (;;)
			serve();
}

static void serve_socket(void)
{
	char data[65536];
	ssize_t n = recv(fds[1], data, size, MSG_WAITALL);

	if (n <= 0)
		_exit(0);
	must(send(fds[1], data, (size_t)n, 0) == n, "send");
}

static void setup_unix(void)
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	start_child(serve_socket);
	close(fds[1]);
}

static struct sockaddr_in address_of(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	must(getsockname(fd, (struct sockaddr *)&address, &length) == 0, "getsockname");
	return address;
}

static int bound(int type)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, type, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	return fd;
}

static void join(int fd, int other)
{
	struct sockaddr_in address = address_of(other);

	must(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
}

static void setup_tcp(void)
{
	int listener = bound(SOCK_STREAM);
	int one = 1;

	must(listen(listener, 1) == 0, "listen");
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	join(fds[0], listener);
	fds[1] = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	start_child(serve_socket);
	close(fds[1]);
}

static void setup_udp(void)
{
	fds[0] = bound(SOCK_DGRAM);
	fds[1] = bound(SOCK_DGRAM);
	join(fds[0], fds[1]);
	join(fds[1], fds[0]);
	start_child(serve_socket);
}

static void trips_socket(long n)
{
	char data[65536] = {0};

	while (n--) {
		must(send(fds[0], data, size, 0) == (ssize_t)size, "send");
		must(recv(fds[0], data, size, MSG_WAITALL) == (ssize_t)size, "recv");
	}
}

static void *serve_eventfd(void *argument)
{
	eventfd_t value;

	while (eventfd_read(fds[1], &value) == 0)
		eventfd_write(fds[0], 1);
	return argument;
}

static void setup_eventfd(void)
{
	pthread_t thread;

	fds[0] = eventfd(0, 0);
	fds[1] = eventfd(0, 0);
	must(pthread_create(&thread, NULL, serve_eventfd, NULL) == 0, "pthread_create");
}

static void trips_eventfd(long n)
{
	eventfd_t value;

	while (n--) {
		eventfd_write(fds[1], 1);
		eventfd_read(fds[0], &value);
	}
}

static sem_t semaphores[2];

static void *serve_semaphore(void *argument)
{
	while (sem_wait(&semaphores[1]) == 0)
		sem_post(&semaphores[0]);
	return argument;
}

static void setup_semaphore(void)
{
	pthread_t thread;

	sem_init(&semaphores[0], 0, 0);
	sem_init(&semaphores[1], 0, 0);
	must(pthread_create(&thread, NULL, serve_semaphore, NULL) == 0, "pthread_create");
}

static void trips_semaphore(long n)
{
	while (n--) {
		sem_post(&semaphores[1]);
		sem_wait(&semaphores[0]);
	}
}

static void await_word(unsigned *word)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
}

static void set_word(unsigned *word)
{
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *serve_futex(void *argument)
{
	for (;;) {
		await_word(&words[0]);
		set_word(&words[64]);
	}
	return argument;
}

static void setup_futex(void)
{
	pthread_t thread;

	words = map(PAGE, PROT_READ | PROT_WRITE);
	must(pthread_create(&thread, NULL, serve_futex, NULL) == 0, "pthread_create");
}

static void trips_futex(long n)
{
	while (n--) {
		set_word(&words[0]);
		await_word(&words[64]);
	}
}

/* --- lat_ctx ---------------------------------------------------------------------------------- */

static int first[2], (*rings)[2];
static long *memory;

static long add_up(void)
{
	long sum = 0;

	for (size_t i = 0; i < size / sizeof(*memory); i++)
		sum += memory[i];
	return sum;
}

static volatile long sink;

static void own_memory(void)
{
	memory = size ? map(size, PROT_READ | PROT_WRITE) : NULL;
	for (size_t i = 0; i < size / sizeof(*memory); i++)
		memory[i] = (long)i;
}

static void setup_ring(void)
{
	rings = calloc((size_t)processes, sizeof(*rings));
	for (int i = 0; i < processes; i++)
		must(pipe(rings[i]) == 0, "pipe");
	must(pipe(first) == 0, "pipe");
	for (int i = 1; i < processes; i++) {
		if (fork_tied() > 0)
			continue;
		for (int k = 0; k < processes; k++) { /* so that the end of one is seen by all */
			if (k != i - 1)
				close(rings[k][0]);
			if (k != i)
				close(rings[k][1]);
		}
		own_memory();
		int token;
		while (read(rings[i - 1][0], &token, sizeof(token)) == sizeof(token)) {
			sink = add_up();
			if (write(rings[i][1], &token, sizeof(token)) != sizeof(token))
				break;
		}
		_exit(0);
	}
	own_memory();
}

static void pass(int out_fd, int in_fd)
{
	int token = 1;

	must(write(out_fd, &token, sizeof(token)) == sizeof(token), "write");
	must(read(in_fd, &token, sizeof(token)) == sizeof(token), "read");
	sink = add_up();
}

static void rounds(long n)
{
	while (n--)
		pass(rings[0][1], rings[processes - 1][0]);
}

static void passes_alone(long n)
{
	while (n--)
		pass(first[1], first[0]);
}

/* ---------------------------------------------------------------------------------------------- */

static void readings(long iterations)
{
	struct timespec time;

	for (long i = 0; i < iterations; i++)
		clock_gettime(CLOCK_MONOTONIC, &time);
}

static const struct {
	const char *name;
	void (*setup)(void);
	void (*loop)(long iterations);
	void (*after)(void);
} loops[] = {
	{"fstat", no_setup, calls_fstat, no_setup},
	{"install", no_setup, signals_install, no_setup},
	{"catch", setup_catch, signals_catch, no_setup},
	{"fault", setup_fault, signals_fault, no_setup},
	{"fork", setup_resident, processes_fork, no_setup},
	{"exec", setup_resident, processes_exec, no_setup},
	{"thread", no_setup, threads, no_setup},
	{"mmap", no_setup, mappings, no_setup},
	{"pages", setup_pages, pages_anonymous, pages_back},
	{"unix", setup_unix, trips_socket, no_setup},
	{"tcp", setup_tcp, trips_socket, no_setup},
	{"udp", setup_udp, trips_socket, no_setup},
	{"eventfd", setup_eventfd, trips_eventfd, no_setup},
	{"semaphore", setup_semaphore, trips_semaphore, no_setup},
	{"futex", setup_futex, trips_futex, no_setup},
	{"ring", setup_ring, rounds, no_setup},
	{"clock", no_setup, readings, no_setup},
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_ns(void (*loop)(long), void (*after)(void), long iterations)
{
	double ns[PARTS + 1];

	for (int i = 0; i <= PARTS; i++) { /* the first is dropped */
		double begin = now();
		loop(iterations / PARTS);
		ns[i] = (now() - begin) / (double)(iterations / PARTS);
		after();
	}
	qsort(ns + 1, PARTS, sizeof(*ns), ascending);
	return ns[1 + PARTS / 2];
}

int main(int argc, char *argv[])
{
	if (argc < 3 || atol(argv[2]) < PARTS)
		return 2;
	program = argc > 4 ? argv[4] : NULL;
	size = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	processes = argc > 4 ? atoi(argv[4]) : 2;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(argv[1], loops[i].name) != 0)
			continue;
		loops[i].setup();
		double ns = median_ns(loops[i].loop, loops[i].after, atol(argv[2]));
		if (strcmp(argv[1], "ring") == 0) /* an iteration is a round: one switch of it */
			ns = ns / processes - median_ns(passes_alone, no_setup, atol(argv[2]));
		printf("%.3f\n", ns);
		return 0;
	}
	return 2;
}
