/* Where the other end of a network benchmark is. */
#ifndef BV_ADDRESS_H
#define BV_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
	CONNECT_MS = 5000,  /* an answer that takes longer is none */
	SILENCE_MS = 10000, /* so long without a word from the other end: it is gone */
	DATAGRAM_MAX = 65507,
	ADDRESS_TEXT = 72,  /* "[v6%interface]:port" */
};

/* "HOST", "HOST:PORT", "[V6]:PORT" or a bare V6 address, taken apart. */
struct endpoint {
	char host[256];
	char port[6];
};

/* A port that the text does not name is default_port. Returns 0 or -EINVAL. */
int endpoint_parse(struct endpoint *e, const char *text, const char *default_port);

struct address {
	struct sockaddr_storage socket;
	socklen_t length;
};

void address_set_port(struct address *a, unsigned port);
unsigned address_port(const struct address *a);
void address_text(const struct address *a, char text[ADDRESS_TEXT]);

/* Of both ends of a connected socket. Return 0 or a negative errno. */
int address_local(int fd, struct address *a);
int address_remote(int fd, struct address *a);

/* The same host, whatever the port. */
bool address_same_host(const struct address *a, const struct address *b);

/* A connected socket of that type, or a negative errno; at most CONNECT_MS. Options that count when
 * a connection begins (buffer sizes; 0: as the system likes) are set before. */
int address_connect(const struct address *a, int type, int buffer);

/* SO_SNDBUF and SO_RCVBUF, where a size is asked for. Returns 0 or a negative errno. */
int socket_buffers(int fd, int buffer);

/* What every connection of ours has: it is given up when the other end has been silent for
 * SILENCE_MS, and calls return now and then so that a thread can be told to end. */
void socket_watch(int fd);

/* Resolves and connects by TCP; when it is refused, again and again for patience_ms. Returns 0, or
 * an exit code after an error line that names the endpoint and a remedy. */
int endpoint_connect(const struct endpoint *e, const char *who, unsigned patience_ms, int *fd);

/* The payload of the largest datagram that the interface on the way there sends in one packet. */
size_t endpoint_payload(const struct endpoint *e);

/* The error line for a remote host that broke off; error is a negative errno. Returns 1. */
int endpoint_lost(const char *who, const struct endpoint *e, int error);

#endif
