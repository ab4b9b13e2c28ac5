/*
 * A program that tells LTTng-UST much in little time: functions that call each other in two threads,
 * memory, and events with fields of many kinds. Built with -finstrument-functions.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <lttng/tracef.h>
#include <lttng/tracelog.h>

#include "meter_events.h"

static volatile unsigned sink;
static jmp_buf back;

static void spin(int rounds)
{
	for (int i = 0; i < rounds; i++)
		sink += i;
}

static void sample(int rounds)
{
	spin(rounds);
	spin(2 * rounds);
}

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void give_up(void)
{
	longjmp(back, 1);
}

static void *channel(void *number)
{
	int id = (int)(long)number;

	for (int i = 0; i < 3; i++) {
		void *buffer = malloc(100 * (id + 1));

		sample(1000);
		lttng_ust_tracef("channel %d round %d", id, i);
		lttng_ust_tracepoint(meter, reading, id, i, "a \"text\"\n", (float[]){ 1.5f, 2.5f });
		lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING, "slow %d", i);
		if (i != 1)
			free(buffer);
		usleep(200);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	void *aligned = NULL;
	void *grown = calloc(3, 50);

	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, channel, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	grown = realloc(grown, 500);
	free(grown);
	if (posix_memalign(&aligned, 64, 256))
		return 1;
	if (!setjmp(back))
		give_up();
	return fibonacci(4) != 3;
}
