/* What the network benchmarks share. See net.h. */
#include "bench/net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

int net_find_remote(struct run *run, struct net *n, const char *port)
{
	const char *id = run->benchmark->id, *remote = arg_text(&run->args, "peer");

	n->client.who = id;
	n->client.control.fd = -1;
	n->interrupt_cpu = -1;
	if (strcmp(remote, "auto") == 0)
		return json_error(77, EDESTADDRREQ,
				  "%s: no remote host: run `bvprobe sink` on a machine beside the board "
				  "and give its address, peer=ADDRESS", id);
	if (endpoint_parse(&n->client.remote, remote, port) < 0)
		return json_error(2, EINVAL, "%s: peer=%.100s is no ADDRESS, ADDRESS:PORT or "
					     "[V6]:PORT", id, remote);
	return 0;
}

void net_look_at_interface(struct run *run, struct net *n, int fd)
{
	interface_find(&n->interface, fd);
	if (n->interface.same_machine)
		run_caveat(run, "the remote host is this very machine: loopback measures the scheduler "
				"and memory, not a network");
	if (n->client.sessions > 1)
		run_caveat(run, "the sink serves other sessions at the same time, which share its "
				"CPU and its link");
	interface_mark(&n->interface);
}

/* Like for like where there is such a CPU: of the same cluster, then of another, then a sibling. */
static int other_cpu(struct run *run, int than)
{
	int cpu = place_related(than, "core");

	if (cpu < 0 && (cpu = place_related(than, "cluster")) >= 0)
		run_caveat(run, "the other CPU is of another cluster: it differs in more than its "
				"distance from the interrupt");
	return cpu < 0 ? place_related(than, "sibling") : cpu;
}

int net_place(struct run *run, struct net *n)
{
	const char *id = run->benchmark->id;
	const char *affinity = arg_text(&run->args, "affinity");
	int cpu;

	n->interrupt_cpu = interface_cpu(&n->interface);
	if (strcmp(affinity, "auto") == 0)
		return 0;
	if (arg_number(&run->args, "cpu") != AUTO)
		return json_error(2, EINVAL, "%s: cpu=%s contradicts affinity=%s: give one of them",
				  id, arg_text(&run->args, "cpu"), affinity);
	if (n->interrupt_cpu < 0)
		return json_error(77, ENODEV, "%s: affinity=%s is not possible here: the interface "
					      "%s has no interrupt of its own",
				  id, affinity, n->interface.name[0] ? n->interface.name : "?");
	cpu = n->interrupt_cpu;
	if (strcmp(affinity, "other") == 0)
		cpu = other_cpu(run, cpu);
	if (cpu < 0 || place_pin(cpu) < 0)
		return json_error(77, ENODEV, "%s: affinity=%s is not possible here: CPU %d serves "
					      "the interrupts of %s, and this process may use no "
					      "such CPU",
				  id, affinity, n->interrupt_cpu, n->interface.name);
	run->place.cpu = cpu;
	return 0;
}

static void describe_socket(int fd, bool tcp, struct json *j)
{
	char congestion[16 + 1] = "";
	int number;
	socklen_t size = sizeof(congestion) - 1, length = sizeof(number);

	if (tcp && getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &size) == 0)
		json_string(j, "congestion", congestion);
	if (tcp && getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &number, &length) == 0)
		json_signed(j, "mss", number);
	length = sizeof(number);
	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &number, &length) == 0)
		json_signed(j, "send_buffer", number);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &number, &length) == 0)
		json_signed(j, "receive_buffer", number);
}

void net_describe(const struct net *n, int fd, struct json *j)
{
	struct address a;
	char text[ADDRESS_TEXT];

	json_open(j, "network", '{');
	if (address_remote(fd, &a) == 0) {
		address_text(&a, text);
		json_string(j, "peer", text);
	}
	if (address_local(fd, &a) == 0) {
		address_text(&a, text);
		json_string(j, "local", text);
	}
	interface_describe(&n->interface, n->interrupt_cpu, j);
	describe_socket(fd, !net_by_datagrams(n->client.test.kind), j);
	json_close(j, '}');
}
