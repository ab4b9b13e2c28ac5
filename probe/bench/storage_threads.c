/* Several operations at a time by as many threads: what there is on kernels without io_uring. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/storage_io.h"

struct worker {
	struct io *io;
	uint32_t slot;
	pthread_t thread;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t go, done;
	unsigned batch;      /* counts up when there is work */
	uint32_t busy;       /* threads that are not done with it */
	bool quit;
	_Atomic uint64_t next;
	uint64_t end;
	_Atomic int error;
	uint32_t started;
	struct worker workers[DEPTH_MAX];
};

static void work_off(struct worker *w)
{
	struct pool *p = w->io->own;

	while (p->error == 0) {
		uint64_t number = atomic_fetch_add(&p->next, 1);
		int error;
		if (number >= p->end)
			return;
		error = io_one(w->io, w->slot, number);
		if (error)
			p->error = error;
	}
}

static void *worker(void *context)
{
	struct worker *w = context;
	struct pool *p = w->io->own;
	unsigned seen = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->batch == seen && !p->quit)
			pthread_cond_wait(&p->go, &p->lock);
		if (p->quit)
			break;
		seen = p->batch;
		pthread_mutex_unlock(&p->lock);
		work_off(w);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void threads_close(struct io *io)
{
	struct pool *p = io->own;

	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->go);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t i = 0; i < p->started; i++)
		pthread_join(p->workers[i].thread, NULL);
	free(p);
	io->own = NULL;
}

static int threads_open(struct io *io)
{
	struct pool *p = calloc(1, sizeof(*p));

	io->own = p;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->go, NULL);
	pthread_cond_init(&p->done, NULL);
	for (uint32_t i = 0; i < io->depth; i++) {
		struct worker *w = &p->workers[i];
		int error;
		*w = (struct worker){.io = io, .slot = i};
		error = pthread_create(&w->thread, NULL, worker, w);
		if (error) {
			threads_close(io);
			return -error;
		}
		p->started++;
	}
	return 0;
}

static int threads_run(struct io *io, uint64_t first, uint64_t end)
{
	struct pool *p = io->own;

	p->next = first;
	p->end = end;
	p->error = 0;
	pthread_mutex_lock(&p->lock);
	p->busy = io->depth;
	p->batch++;
	pthread_cond_broadcast(&p->go);
	while (p->busy > 0)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return p->error;
}

const struct engine engine_threads = {"threads", threads_open, threads_run, threads_close};
