/* bvio: the benchmarks that reach out of the board or onto its disks (network, storage, GPIO), the
 * other end of those of the network, the remote end of serial lines, the recorder of traces, and the
 * follower of a command's system calls. Called by bvprobe, beside which it lies. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "core/program.h"
#include "follow/follow.h"
#include "net/sink.h"
#include "serial/echo.h"
#include "trace/trace.h"

static benchmark_table benchmarks = {
	&storage_read,
	&storage_write,
	&storage_random_read,
	&storage_random_write,
	&storage_fsync,
	&net_tcp,
	&net_udp,
	&net_latency,
	&gpio_response,
	NULL,
};

/* For bvprobe's list: members of an array, without brackets around them. */
static int describe_all(void)
{
	struct json j = {0};
	int lost;

	program_describe(benchmarks, &j);
	lost = puts(j.text) < 0 || fflush(stdout) != 0;
	free(j.text);
	return lost ? 1 : 0;
}

int main(int argc, char *argv[])
{
	const struct benchmark *b;

	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error to handle */
	if (argc == 2 && strcmp(argv[1], "describe") == 0)
		return describe_all();
	if (argc > 1 && strcmp(argv[1], "sink") == 0)
		return sink(argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "echo") == 0)
		return echo(argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "trace") == 0)
		return trace(argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "follow") == 0)
		return follow(argc - 2, argv + 2);
	if (argc > 2 && strcmp(argv[1], "run") == 0) {
		b = program_find(benchmarks, argv[2]);
		return b ? batch_run(b, argc - 3, argv + 3)
			 : json_error(2, EINVAL, "run: no benchmark '%s': `bvprobe list` names "
						 "them", argv[2]);
	}
	return json_error(2, EINVAL, "bvio: bvprobe calls this with describe, run ID, sink, "
			     "echo, trace or follow");
}
