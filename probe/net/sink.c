/* The other end of the network benchmarks: who may have a session, and with whom a new connection
 * belongs. Each session is served by a process of its own (session.c), whose CPU time is that of
 * the session alone. See docs/net-protocol.md. */
#include "net/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/param.h"
#include "net/address.h"
#include "net/session.h"

enum { PENDING_MAX = 16, HELLO_MS = 5000 };

/* A connection that has not said yet what it is. */
struct pending {
	struct control control; /* fd -1: a free place */
	uint64_t until;
};

struct served {
	pid_t pid; /* 0: a free place */
	int handover;
	char token[TOKEN + 1];
};

struct sink {
	pid_t self;
	int listener;
	const char *key;
	struct pending pending[PENDING_MAX];
	struct served served[SESSIONS_MAX];
};

static void forget(struct pending *p)
{
	close(p->control.fd);
	p->control.fd = -1;
}

/* A place for a new connection: if need be that of the one that has been silent for longest, so
 * that half-open connections keep nobody out. */
static struct pending *place_for(struct sink *s)
{
	struct pending *oldest = &s->pending[0];

	for (int i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &s->pending[i];
		if (p->control.fd < 0)
			return p;
		if (p->until < oldest->until)
			oldest = p;
	}
	forget(oldest);
	return oldest;
}

static void take_connection(struct sink *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pending *p;

	if (fd < 0)
		return;
	socket_watch(fd);
	p = place_for(s);
	p->control.fd = fd;
	p->control.length = p->control.taken = 0;
	p->until = clock_ns() + HELLO_MS * 1000000ull;
}

/* Takes as long for a wrong key as for the right one. */
static bool same_key(const char *key, const char *presented)
{
	size_t length = strlen(presented);
	unsigned different = strlen(key) != length;

	for (size_t i = 0; i < length; i++)
		different |= (unsigned char)presented[i] ^ (unsigned char)key[i % (strlen(key) + 1)];
	return different == 0;
}

static bool make_token(char *token)
{
	unsigned char bytes[TOKEN / 2];
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool well = fd >= 0 && read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(bytes) && well; i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return well;
}

/* The session's process holds nothing but what is its own: a connection that another process still
 * has open does not end when its owner closes it. */
static void serve_session(struct sink *s, struct pending *p, int handover, const char *token)
{
	int count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->self)
		_exit(1);
	close(s->listener);
	for (int i = 0; i < PENDING_MAX; i++)
		if (s->pending[i].control.fd >= 0 && &s->pending[i] != p)
			close(s->pending[i].control.fd);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		count += s->served[i].pid > 0;
		if (s->served[i].pid > 0)
			close(s->served[i].handover);
	}
	if (control_send(&p->control, "ok %s %d", token, count + 1) == 0)
		session_serve(&p->control, handover, token);
	_exit(0);
}

static const char *open_session(struct sink *s, struct pending *p)
{
	struct served *place = NULL;
	int ends[2];

	for (int i = 0; i < SESSIONS_MAX && !place; i++)
		if (s->served[i].pid == 0)
			place = &s->served[i];
	if (!place || !make_token(place->token) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return "refused busy";
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		serve_session(s, p, ends[1], place->token);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return "refused busy";
	}
	place->pid = pid;
	place->handover = ends[0];
	return NULL;
}

static const char *hand_over(struct sink *s, struct pending *p, const char *token)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} extra = {0};
	struct iovec data = {"", 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = extra.room,
				 .msg_controllen = sizeof(extra.room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &p->control.fd, sizeof(int));
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s->served[i].pid > 0 && strcmp(s->served[i].token, token) == 0)
			return sendmsg(s->served[i].handover, &message,
				       MSG_NOSIGNAL | MSG_DONTWAIT) == 1
				       ? NULL
				       : "refused session";
	return "refused session";
}

/* The first line of a connection. Returns why it is refused, or NULL. */
static const char *judge(struct sink *s, struct pending *p, const char *line)
{
	static char other_version[32];
	int version, at = 0;

	if (sscanf(line, NET_GREETING " %9d %n", &version, &at) < 1 || at == 0)
		return "refused greeting";
	if (version != NET_PROTOCOL) {
		snprintf(other_version, sizeof(other_version), "refused version %d", NET_PROTOCOL);
		return other_version;
	}
	line += at;
	if (strncmp(line, "stream ", 7) == 0)
		return hand_over(s, p, line + 7);
	if (strncmp(line, "session ", 8) != 0)
		return "refused greeting";
	return same_key(s->key, line + 8) ? open_session(s, p) : "refused key";
}

static void hear(struct sink *s, struct pending *p)
{
	int error = control_fill(&p->control);
	char *line;

	if (error == -EAGAIN)
		return;
	line = error ? NULL : control_take(&p->control);
	if (!error && !line)
		return;
	if (line) {
		const char *refusal = judge(s, p, line);
		if (refusal)
			control_send(&p->control, "%s", refusal);
	}
	forget(p); /* another process has it now, or nobody */
}

static void reap(struct sink *s)
{
	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct served *session = &s->served[i];
		if (session->pid > 0 && waitpid(session->pid, NULL, WNOHANG) == session->pid) {
			close(session->handover);
			session->pid = 0;
		}
	}
}

/* Serves until standard input ends. */
static void serve_all(struct sink *s)
{
	enum { TICK_MS = 500, FIRST = 2 };

	for (;;) {
		struct pollfd fds[FIRST + PENDING_MAX + SESSIONS_MAX] = {
			{.fd = STDIN_FILENO, .events = POLLIN},
			{.fd = s->listener, .events = POLLIN},
		};
		char scrap[256];

		for (int i = 0; i < PENDING_MAX; i++)
			fds[FIRST + i] = (struct pollfd){s->pending[i].control.fd, POLLIN, 0};
		for (int i = 0; i < SESSIONS_MAX; i++)
			fds[FIRST + PENDING_MAX + i] = (struct pollfd){
				s->served[i].pid > 0 ? s->served[i].handover : -1, POLLIN, 0};
		int ready = poll(fds, FIRST + PENDING_MAX + SESSIONS_MAX, TICK_MS);
		reap(s);
		for (int i = 0; i < PENDING_MAX; i++) {
			struct pending *p = &s->pending[i];
			if (p->control.fd < 0)
				continue;
			if (ready > 0 && fds[FIRST + i].revents)
				hear(s, p);
			else if (clock_ns() > p->until)
				forget(p);
		}
		if (ready <= 0)
			continue;
		if (fds[1].revents)
			take_connection(s);
		if (!fds[0].revents)
			continue;
		ssize_t n = read(STDIN_FILENO, scrap, sizeof(scrap));
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return;
	}
}

static int listen_at(const char *host, const char *port)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *addresses;
	int on = 1, off = 0, fd = -1, error = 0;

	if (getaddrinfo(host, port, &wanted, &addresses))
		return -EADDRNOTAVAIL;
	fd = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && addresses->ai_family == AF_INET6) /* "::" shall mean IPv4 too */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, addresses->ai_addr, addresses->ai_addrlen) < 0 || listen(fd, 64) < 0)
		error = -errno;
	freeaddrinfo(addresses);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

static int say_where(const struct sink *s)
{
	struct address here;
	struct json j = {0};
	char text[ADDRESS_TEXT], *colon;

	if (address_local(s->listener, &here) < 0)
		return 1;
	address_text(&here, text);
	colon = strrchr(text, ':');
	*colon = '\0';
	if (text[0] == '[')
		colon[-1] = '\0';
	json_begin(&j, "listening");
	json_string(&j, "address", text + (text[0] == '['));
	json_unsigned(&j, "port", address_port(&here));
	int lost = json_send(&j);
	free(j.text);
	return lost ? 1 : 0;
}

static const struct param params[] = {
	{"bind", PARAM_TEXT, "auto", 1, 255, NULL, "address to listen at; auto: all of them"},
	{"port", PARAM_INTEGER, NET_PORT, 0, 65535, NULL, "port to listen at; 0: any free one"},
	{"key", PARAM_TEXT, "", 0, KEY_MAX, NULL, "what a client must know; empty: nothing"},
	{0},
};

int sink(int argc, char *const argv[])
{
	static struct sink s;
	struct args args;
	const char *host, *port;
	int status;

	args_begin(&args, NULL, params);
	status = args_parse(&args, "sink", argc, argv);
	if (status)
		return status;
	host = arg_text(&args, "bind");
	port = arg_text(&args, "port");
	s.key = arg_text(&args, "key");
	s.self = getpid();
	for (int i = 0; i < PENDING_MAX; i++)
		s.pending[i].control.fd = -1;
	if (strcmp(host, "auto") != 0)
		s.listener = listen_at(host, port);
	else if ((s.listener = listen_at("::", port)) < 0) /* a system without IPv6 */
		s.listener = listen_at("0.0.0.0", port);
	if (s.listener < 0)
		return json_error(1, -s.listener, "sink: cannot listen at %s port %s: give an "
						  "address that this system has, and a free port "
						  "(--port 0 takes any)", host, port);
	status = say_where(&s);
	if (status == 0)
		serve_all(&s);
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s.served[i].pid > 0)
			kill(s.served[i].pid, SIGKILL);
	close(s.listener);
	return status;
}
