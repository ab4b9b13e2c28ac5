/* The threads that take the kernel's ring buffers. See readers.h. */
#include "trace/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"

enum {
	CHUNK = 2 << 20,  /* a huge page where there are any: few page faults */
	FEWEST = 8,       /* chunks of who keeps the newest, so that little goes at once */
	PAUSE_MS = 50,    /* between looks, so that a busy buffer does not keep its reader busy */
	/* and where each look takes whatever there is, as somebody waits for it */
	LONG_PAUSE_MS = 200,
	PRIORITY = -20,   /* a reader that has to wait for its turn loses events */
	STACK = 65536,
};

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t events_in(const struct page_layout *layout, const struct chunk *c)
{
	struct page_event e;
	uint64_t events = 0;

	for (size_t at = 0; at < c->used; at += layout->size)
		for (page_first(layout, c->data + at, &e); page_next(layout, c->data + at, &e);)
			events++;
	return events;
}

/* The oldest chunk, empty, of a reader that has its share; NULL: it has room. */
static struct chunk *oldest(struct reader *r)
{
	struct chunk *c = r->first;

	if (!r->all->share || r->bytes + r->all->chunk <= r->all->share || c == r->last)
		return NULL;
	r->overwritten += events_in(&r->all->layout, c);
	r->first = c->next;
	r->bytes -= c->used;
	atomic_fetch_sub(&r->all->bytes, c->used);
	c->next = NULL;
	c->used = 0;
	return c;
}

static struct chunk *new_chunk(size_t size)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->data == MAP_FAILED) {
		free(c);
		return NULL;
	}
	madvise(c->data, size, MADV_HUGEPAGE);
	return c;
}

/* Where the next sub-buffer goes; NULL: there is no memory for it. */
static char *place(struct reader *r)
{
	size_t page = r->all->layout.size;
	struct chunk *c = r->last;

	if (c && c->used + page <= r->all->chunk)
		return c->data + c->used;
	c = oldest(r);
	if (!c)
		c = new_chunk(r->all->chunk);
	if (!c)
		return NULL;
	if (r->last)
		r->last->next = c;
	else
		r->first = c;
	r->last = c;
	return c->data;
}

static void tell_full(struct readers *all)
{
	uint64_t one = 1;

	if (write(all->full, &one, sizeof(one)) < 0)
		return; /* its counter is at its end: told long ago */
}

static void take(struct reader *r)
{
	size_t page = r->all->layout.size;

	r->last->used += page;
	r->bytes += page;
	if (atomic_fetch_add(&r->all->bytes, page) + page >= r->all->enough)
		tell_full(r->all);
}

/* Reads sub-buffers until there is none, or, while recording, until one was not full: it is the
 * one that is being written, and to read it again and again would make many of one. False when
 * this reader can do no more. */
static bool drain(struct reader *r, bool all)
{
	const struct page_layout *layout = &r->all->layout;

	for (;;) {
		char *page = place(r);
		ssize_t n;
		size_t used;

		if (!page) {
			atomic_store(&r->all->out_of_memory, true);
			tell_full(r->all);
			return false;
		}
		n = read(r->fd, page, layout->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r->error = n < 0 && errno != EAGAIN ? -errno : 0;
			return r->error == 0;
		}
		memset(page + n, 0, layout->size - (size_t)n);
		used = page_trim(layout, page);
		if (used > 0)
			take(r);
		if (used > 0 && r->all->condition)
			condition_page(r->all->condition, layout, page);
		if (!all && used < layout->size / 2)
			return true;
	}
}

static void settle(const struct reader *r)
{
	char name[32];
	cpu_set_t cpus;

	snprintf(name, sizeof(name), "bvtrace/%d", r->cpu);
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, 0, PRIORITY); /* in Linux, of this thread alone */
	if (r->all->on_cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(r->all->on_cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
}

/* Kernels wake it when a part of the buffer is full (buffer_percent) or, older ones, when anything
 * is in it. */
static void *read_on(void *context)
{
	struct reader *r = context;
	struct pollfd fds[2] = {{.fd = r->fd, .events = POLLIN},
				{.fd = r->all->stop, .events = POLLIN}};
	int pause = r->all->condition ? LONG_PAUSE_MS : PAUSE_MS;
	bool more = true;

	settle(r);
	while (more && !(fds[1].revents & POLLIN)) {
		poll(fds, 2, -1);
		if (fds[1].revents & POLLIN)
			break;
		more = drain(r, false);
		if (more)
			poll(&fds[1], 1, pause);
	}
	if (more)
		drain(r, true);
	r->cpu_ns = thread_ns();
	return NULL;
}

static int by_cpu(const void *a, const void *b)
{
	return ((const struct reader *)a)->cpu - ((const struct reader *)b)->cpu;
}

int readers_open(struct readers *r, const struct tracefs *fs)
{
	char path[640];
	struct dirent *entry;
	DIR *dir;

	r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->full = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(path, sizeof(path), "%s/per_cpu", fs->base);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct reader *more;
		int cpu;
		if (sscanf(entry->d_name, "cpu%d", &cpu) != 1)
			continue;
		more = realloc(r->each, (size_t)(r->count + 1) * sizeof(*more));
		if (!more)
			abort();
		r->each = more;
		r->each[r->count++] = (struct reader){.cpu = cpu, .fd = -1};
	}
	if (dir)
		closedir(dir);
	if (r->count == 0)
		return json_error(77, ENOENT, "trace: %s has no CPUs: this is no tracefs", path);
	qsort(r->each, (size_t)r->count, sizeof(*r->each), by_cpu);
	for (int i = 0; i < r->count; i++) {
		struct reader *one = &r->each[i];
		one->all = r;
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", fs->base, one->cpu);
		one->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (one->fd < 0)
			return json_error(77, errno, "trace: %s cannot be read: another reader may "
						     "have it", path);
	}
	return 0;
}

void readers_keep(struct readers *r, size_t bytes, bool newest)
{
	size_t page = r->layout.size;

	r->chunk = CHUNK;
	r->enough = newest ? SIZE_MAX : bytes;
	if (!newest)
		return;
	r->share = bytes / (size_t)r->count;
	if (r->chunk > r->share / FEWEST)
		r->chunk = r->share / FEWEST / page * page;
	if (r->chunk < page)
		r->chunk = page;
}

int readers_start(struct readers *r)
{
	pthread_attr_t attributes;
	int error = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : STACK);
	for (int i = 0; i < r->count && !error; i++) {
		error = pthread_create(&r->each[i].thread, &attributes, read_on, &r->each[i]);
		r->each[i].started = error == 0;
	}
	pthread_attr_destroy(&attributes);
	return error ? json_error(1, error, "trace: a thread for each CPU cannot be started") : 0;
}

void readers_finish(struct readers *r)
{
	uint64_t one = 1;

	if (r->stop >= 0 && write(r->stop, &one, sizeof(one)) < 0)
		return; /* its counter is at its end: they have been told often enough */
	for (int i = 0; i < r->count; i++) {
		if (r->each[i].started)
			pthread_join(r->each[i].thread, NULL);
		r->each[i].started = false;
	}
}

void readers_close(struct readers *r)
{
	for (int i = 0; i < r->count; i++) {
		if (r->each[i].fd >= 0)
			close(r->each[i].fd);
		r->each[i].fd = -1;
	}
	if (r->stop >= 0)
		close(r->stop);
	if (r->full >= 0)
		close(r->full);
}

void readers_free(struct readers *r)
{
	for (int i = 0; i < r->count; i++) {
		for (struct chunk *c = r->each[i].first, *next; c; c = next) {
			next = c->next;
			munmap(c->data, r->chunk);
			free(c);
		}
	}
	free(r->each);
	r->each = NULL;
	r->count = 0;
}
