/* What one flow sends another receives, to the last byte, batch after batch; datagrams that are
 * missing or late are counted; a stream that breaks ends the batch with its error. */
#include "net/flow.h"
#include "tests/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "net/address.h"

static struct flow sender, receiver;
static struct window window;

static int conduct_receiver(void *context)
{
	uint64_t before = flow_bytes(&receiver, false);
	int error = 0;

	(void)context;
	while (error == 0 && flow_bytes(&receiver, false) == before) /* until the sender runs */
		error = flow_pass(&receiver, 1);
	if (error == 0)
		error = flow_window(&receiver, 5, 20, &window);
	if (error == 0)
		error = flow_stop(&sender);
	uint64_t totals[2] = {sender.streams[0].bytes, sender.streams[1].bytes};
	return error ? error : flow_drain(&receiver, totals);
}

static int wait_for_stop(void *context)
{
	(void)context;
	while (!sender.stop)
		flow_pass(&sender, 1);
	return flow_stop(&sender);
}

static void *run_sender(void *context)
{
	return (void *)(intptr_t)flow_run(&sender, wait_for_stop, context);
}

static void connect_flows(int type, int streams)
{
	for (int i = 0; i < streams; i++) {
		int ends[2];
		CHECK(socketpair(AF_UNIX, type, 0, ends) == 0);
		socket_watch(ends[0]);
		socket_watch(ends[1]);
		flow_add(&sender, ends[0], true);
		flow_add(&receiver, ends[1], false);
	}
	sender.block = receiver.block = 4096;
	sender.datagrams = receiver.datagrams = type == SOCK_DGRAM;
	CHECK(flow_prepare(&sender) == 0 && flow_prepare(&receiver) == 0);
}

static void streams(void)
{
	connect_flows(SOCK_STREAM, 2);
	for (int batch = 0; batch < 3; batch++) {
		pthread_t thread;
		void *error;
		sender.stop = false;
		CHECK(pthread_create(&thread, NULL, run_sender, NULL) == 0);
		CHECK(flow_run(&receiver, conduct_receiver, NULL) == 0);
		CHECK(pthread_join(thread, &error) == 0 && error == NULL);
		CHECK(window.bytes > 0 && window.ns >= 20000000);
		for (int i = 0; i < 2; i++)
			CHECK(sender.streams[i].bytes == receiver.streams[i].bytes);
		CHECK(flow_bytes(&receiver, false) >= window.bytes);
	}
	close(sender.streams[1].fd);
	sender.streams[1].fd = -1;
	CHECK(flow_run(&receiver, conduct_receiver, NULL) == -ECONNRESET); /* nobody sends */
	flow_close(&sender);
	flow_close(&receiver);
}

static void say(uint32_t number)
{
	uint32_t header[4] = {0, 0, htonl(number), 0};

	CHECK(send(sender.streams[0].fd, header, sizeof(header), 0) == sizeof(header));
}

static int conduct_numbers(void *context)
{
	static const uint32_t numbers[] = {1, 2, 5, 4, 6, 10};

	(void)context;
	say(0);
	flow_pass(&receiver, 50); /* before the window: 0 is no later than nothing */
	struct window w;
	uint64_t before = receiver.streams[0].misordered;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		say(numbers[i]);
	flow_pass(&receiver, 50);
	CHECK(receiver.streams[0].messages == 7 && receiver.streams[0].highest == 10);
	CHECK(receiver.streams[0].misordered == before + 1);
	CHECK(flow_window(&receiver, 0, 10, &w) == -ENODATA);
	return flow_drain(&receiver, NULL);
}

int main(void)
{
	streams();
	connect_flows(SOCK_DGRAM, 1);
	CHECK(flow_run(&receiver, conduct_numbers, NULL) == 0);
	flow_close(&sender);
	flow_close(&receiver);
	return 0;
}
