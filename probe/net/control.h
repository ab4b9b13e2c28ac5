/* The control connection of a session: lines of text, both ways. See docs/net-protocol.md. */
#ifndef BV_CONTROL_H
#define BV_CONTROL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define NET_GREETING "benchvise-net"
enum { NET_PROTOCOL = 1, CONTROL_LINE = 1024 };

struct control {
	int fd;
	size_t length; /* read, but no part of a line given out yet */
	size_t taken;  /* the line given out last */
	char text[CONTROL_LINE];
};

/* One line. Returns 0 or a negative errno. */
int control_send(struct control *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes a line out of what was read, without its end: NULL when there is no whole one. It is good
 * until the next call. */
char *control_take(struct control *c);

/* Reads once, what there is. Returns 0 or a negative errno: -ECONNRESET at the end, -EAGAIN when
 * there is nothing, -EPROTO when a line is too long. */
int control_fill(struct control *c);

/* Waits for a line at most timeout_ms, or until *failed (may be NULL) becomes a negative errno,
 * which it then returns. Returns 0 or a negative errno. */
int control_wait(struct control *c, char **line, int timeout_ms, const _Atomic int *failed);

/* Waits for a line that begins with that word and holds `count` numbers, no fewer; a line "error"
 * is -EREMOTEIO, another is -EPROTO. */
int control_expect(struct control *c, const char *word, uint64_t *numbers, int count,
		   int timeout_ms, const _Atomic int *failed);

/* The decimal numbers of a text, at most `most`; -1 when there is anything else in it. */
int control_numbers(const char *text, uint64_t *numbers, int most);

#endif
