/* JSON lines out, and the one shape of JSON that comes in. */
#ifndef BV_JSON_H
#define BV_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line under construction. It is written by json_send() with a single write(2), so that a
 * probe that is killed leaves whole lines only and a reader never waits for a buffer. */
struct json {
	char *text;
	size_t length;
	size_t size;
	bool need_comma;
};

void json_begin(struct json *j, const char *type);

/* Returns 0, or a negative errno when nobody can read it. */
int json_send(struct json *j);

/* A NULL key adds an array element. Bytes that are no UTF-8 become U+FFFD. */
void json_string(struct json *j, const char *key, const char *value);

/* Adds "key": text, or "hex": digits when the bytes are not UTF-8 text (device-tree cells, say), or
 * are more than 64 KiB of which most would have to be escaped. */
void json_bytes(struct json *j, const char *key, const char *bytes, size_t length);
void json_unsigned(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
void json_number(struct json *j, const char *key, double value);
void json_true(struct json *j, const char *key);
void json_na(struct json *j, const char *key, const char *reason);
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

/* Adds members of an array that are JSON already. */
void json_members(struct json *j, const char *text);

/* An error line on standard output; error is a positive errno or 0. Returns exit_code, so that
 * callers can `return json_error(…)`. */
int json_error(int exit_code, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The name of a positive errno; of one without name, its number, good until the next call. */
const char *errno_name(int error);

/* A request of `serve`: {"request": N, "args": ["…", …], "input": ["…", …]}.
 * The strings are unescaped in place inside line. Returns 0 or -EINVAL with *why set; the number is
 * set even then when it could be read. */
enum { REQUEST_ARGS = 64, REQUEST_INPUT = 1024 };
struct request {
	uint64_t number;
	char *args[REQUEST_ARGS + 1];
	int arg_count;
	char *input[REQUEST_INPUT];
	int input_count;
};
int json_parse_request(char *line, struct request *request, const char **why);

#endif
