/* Where the other end of a network benchmark is. See address.h. */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/json.h"

int endpoint_parse(struct endpoint *e, const char *text, const char *default_port)
{
	const char *host = text, *port = default_port;
	const char *colon = strchr(text, ':');
	size_t length = strlen(text);

	if (*text == '[') {
		const char *end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		host = text + 1;
		length = (size_t)(end - host);
		if (end[1])
			port = end + 2;
	} else if (colon && !strchr(colon + 1, ':')) {
		length = (size_t)(colon - text);
		port = colon + 1;
	}
	size_t digits = strspn(port, "0123456789");
	if (length == 0 || length >= sizeof(e->host) || digits == 0 || digits > 5 || port[digits] ||
	    atoi(port) == 0 || atoi(port) > 65535)
		return -EINVAL;
	memcpy(e->host, host, length);
	e->host[length] = '\0';
	memcpy(e->port, port, digits + 1);
	return 0;
}

static in_port_t *port_of(const struct address *a)
{
	return a->socket.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&a->socket)->sin6_port
					       : &((struct sockaddr_in *)&a->socket)->sin_port;
}

void address_set_port(struct address *a, unsigned port)
{
	*port_of(a) = htons((uint16_t)port);
}

unsigned address_port(const struct address *a)
{
	return ntohs(*port_of(a));
}

void address_text(const struct address *a, char text[ADDRESS_TEXT])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->socket;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->socket;
	char host[INET6_ADDRSTRLEN] = "?", scope[16] = "";

	if (a->socket.ss_family != AF_INET6) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "%s:%u", host, address_port(a));
		return;
	}
	inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
	if (v6->sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", v6->sin6_scope_id);
	snprintf(text, ADDRESS_TEXT, "[%s%s]:%u", host, scope, address_port(a));
}

int address_local(int fd, struct address *a)
{
	a->length = sizeof(a->socket);
	return getsockname(fd, (struct sockaddr *)&a->socket, &a->length) < 0 ? -errno : 0;
}

int address_remote(int fd, struct address *a)
{
	a->length = sizeof(a->socket);
	return getpeername(fd, (struct sockaddr *)&a->socket, &a->length) < 0 ? -errno : 0;
}

bool address_same_host(const struct address *a, const struct address *b)
{
	if (a->socket.ss_family != b->socket.ss_family)
		return false;
	if (a->socket.ss_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)&a->socket)->sin6_addr,
			      &((const struct sockaddr_in6 *)&b->socket)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return ((const struct sockaddr_in *)&a->socket)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)&b->socket)->sin_addr.s_addr;
}

int socket_buffers(int fd, int buffer)
{
	if (buffer > 0 &&
	    (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) < 0 ||
	     setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) < 0))
		return -errno;
	return 0;
}

void socket_watch(int fd)
{
	static const struct {
		int level, option, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 4},
		{IPPROTO_TCP, TCP_KEEPINTVL, 2},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS},
	};
	struct timeval receive = {.tv_usec = 20000}, send = {.tv_usec = 200000};

	/* Datagram sockets refuse those of TCP, which they do not need. */
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send));
}

static int finish_connect(int fd)
{
	struct pollfd out = {.fd = fd, .events = POLLOUT};
	int error = 0, ready;
	socklen_t length = sizeof(error);

	do {
		ready = poll(&out, 1, CONNECT_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return -ETIMEDOUT;
	if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	return -error;
}

int address_connect(const struct address *a, int type, int buffer)
{
	int fd = socket(a->socket.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = socket_buffers(fd, buffer);
	if (error == 0 && connect(fd, (const struct sockaddr *)&a->socket, a->length) < 0)
		error = errno == EINPROGRESS ? finish_connect(fd) : -errno;
	if (error == 0 && fcntl(fd, F_SETFL, 0) < 0)
		error = -errno;
	if (error) {
		close(fd);
		return error;
	}
	socket_watch(fd);
	return fd;
}

static const char *remedy(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "nothing listens there: start `bvprobe sink` on the remote host (for "
		       "protocol=iperf3: `iperf3 -s`), or correct the port";
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "no answer: check address, cable, route and firewall";
	case EAFNOSUPPORT:
	case EADDRNOTAVAIL:
		return "this system has no such addresses: give the remote host's address of the other "
		       "kind (IPv4 or IPv6)";
	default:
		return "check the address, and that the remote host runs `bvprobe sink`";
	}
}

/* A connection to the first address that takes one, or the negative errno of the last. */
static int connect_any(const struct addrinfo *addresses)
{
	int fd = -EADDRNOTAVAIL;

	for (; addresses && fd < 0; addresses = addresses->ai_next) {
		struct address a = {.length = addresses->ai_addrlen};
		memcpy(&a.socket, addresses->ai_addr, addresses->ai_addrlen);
		fd = address_connect(&a, SOCK_STREAM, 0);
	}
	return fd;
}

int endpoint_connect(const struct endpoint *e, const char *who, unsigned patience_ms, int *fd)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *addresses;
	uint64_t until = clock_ns() + patience_ms * 1000000ull;
	int failure = getaddrinfo(e->host, e->port, &wanted, &addresses);

	if (failure)
		return json_error(1, failure == EAI_SYSTEM ? errno : 0,
				  "%s: no address of the remote host '%s' is known (%s): give a numeric "
				  "address, or check /etc/resolv.conf and /etc/hosts",
				  who, e->host, gai_strerror(failure));
	while ((*fd = connect_any(addresses)) == -ECONNREFUSED && clock_ns() < until)
		usleep(20000);
	freeaddrinfo(addresses);
	if (*fd >= 0)
		return 0;
	return json_error(*fd == -EAFNOSUPPORT ? 77 : 1, -*fd,
			  "%s: cannot connect to the remote host %s port %s: %s", who, e->host, e->port,
			  remedy(-*fd));
}

size_t endpoint_payload(const struct endpoint *e)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM}, *addresses;
	enum { HEADER_V4 = 28, HEADER_V6 = 48, ETHERNET = 1500 };
	int mtu = ETHERNET, fd;
	socklen_t length = sizeof(mtu);

	if (getaddrinfo(e->host, e->port, &wanted, &addresses))
		return ETHERNET - HEADER_V6; /* connecting will tell what is wrong */
	bool v6 = addresses->ai_family == AF_INET6;
	fd = socket(addresses->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, addresses->ai_addr, addresses->ai_addrlen) == 0)
		getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu,
			   &length);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(addresses);
	mtu -= v6 ? HEADER_V6 : HEADER_V4;
	return mtu > DATAGRAM_MAX ? DATAGRAM_MAX : (size_t)mtu;
}

int endpoint_lost(const char *who, const struct endpoint *e, int error)
{
	if (error == -ETIMEDOUT)
		return json_error(1, ETIMEDOUT, "%s: the remote host %s port %s has been silent for %d s: "
						"check the link and the remote host",
				  who, e->host, e->port, SILENCE_MS / 1000);
	if (error == -ENODATA)
		return json_error(1, ENODATA, "%s: no payload arrived from or at the remote host %s port "
					      "%s in a whole batch: check the link and firewalls, "
					      "or make batch_ms longer",
				  who, e->host, e->port);
	return json_error(1, -error, "%s: the remote host %s port %s broke off in the middle: see whether "
				     "it still runs, then measure again",
			  who, e->host, e->port);
}
