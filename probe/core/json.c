/* JSON lines out. See json.h. */
#include "core/json.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(struct json *j, const char *bytes, size_t length)
{
	if (j->length + length + 1 > j->size) {
		size_t size = (j->length + length + 1) * 2;
		char *text = realloc(j->text, size);
		if (!text)
			abort(); /* a few kB: the system is beyond measuring anything */
		j->text = text;
		j->size = size;
	}
	memcpy(j->text + j->length, bytes, length);
	j->length += length;
	j->text[j->length] = '\0';
}

static void append_text(struct json *j, const char *text)
{
	append(j, text, strlen(text));
}

/* Length of the UTF-8 sequence at p, or 0 when it is none. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0; /* overlong, surrogate, or beyond U+10FFFF */
	return n;
}

enum { ESCAPED = 6, HEX_IF_LONGER = 65537 };

static bool must_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

static void append_quoted(struct json *j, const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)text;
	char escape[8];

	append(j, "\"", 1);
	while (length > 0) {
		size_t n = utf8_length(p, length);
		if (n == 0) {
			append_text(j, "\\ufffd");
			n = 1;
		} else if (n == 1 && must_escape(*p)) {
			snprintf(escape, sizeof(escape), "\\u%04x", *p);
			append_text(j, escape);
		} else {
			append(j, (const char *)p, n);
		}
		p += n;
		length -= n;
	}
	append(j, "\"", 1);
}

static void append_key(struct json *j, const char *key)
{
	if (j->need_comma)
		append(j, ",", 1);
	j->need_comma = true;
	if (key) {
		append_quoted(j, key, strlen(key));
		append(j, ":", 1);
	}
}

void json_members(struct json *j, const char *text)
{
	append_key(j, NULL);
	append_text(j, text);
}

void json_begin(struct json *j, const char *type)
{
	j->length = 0;
	j->need_comma = false;
	append(j, "{", 1);
	json_string(j, "type", type);
}

int json_send(struct json *j)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	size_t done = 0;

	append(j, "}\n", 2);
	while (done < j->length) {
		ssize_t n = write(STDOUT_FILENO, j->text + done, j->length - done);
		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN) /* whoever shares our output made it non-blocking */
			poll(&out, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

void json_string(struct json *j, const char *key, const char *value)
{
	append_key(j, key);
	append_quoted(j, value, strlen(value));
}

/* Also not what would need more room as text than as digits: a line must not become too long. */
static bool is_text(const char *bytes, size_t length)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t room = length < HEX_IF_LONGER ? SIZE_MAX : 2 * length;

	while (length > 0) {
		size_t n = utf8_length(p, length);
		size_t taken = n == 1 && must_escape(*p) ? ESCAPED : n;
		if (n == 0 || *p == '\0' || taken > room)
			return false;
		room -= taken;
		p += n;
		length -= n;
	}
	return true;
}

void json_bytes(struct json *j, const char *key, const char *bytes, size_t length)
{
	char digits[3];

	if (is_text(bytes, length)) {
		append_key(j, key);
		append_quoted(j, bytes, length);
		return;
	}
	append_key(j, "hex");
	append(j, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		snprintf(digits, sizeof(digits), "%02x", (unsigned char)bytes[i]);
		append(j, digits, 2);
	}
	append(j, "\"", 1);
}

static void append_format(struct json *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_format(struct json *j, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	append_text(j, text);
}

void json_unsigned(struct json *j, const char *key, uint64_t value)
{
	append_key(j, key);
	append_format(j, "%llu", (unsigned long long)value);
}

void json_signed(struct json *j, const char *key, int64_t value)
{
	append_key(j, key);
	append_format(j, "%lld", (long long)value);
}

void json_number(struct json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_na(j, key, "not a finite number");
		return;
	}
	append_key(j, key);
	append_format(j, "%.9g", value);
}

void json_true(struct json *j, const char *key)
{
	append_key(j, key);
	append_text(j, "true");
}

void json_na(struct json *j, const char *key, const char *reason)
{
	json_open(j, key, '{');
	json_string(j, "na", reason);
	json_close(j, '}');
}

void json_open(struct json *j, const char *key, char bracket)
{
	append_key(j, key);
	append(j, &bracket, 1);
	j->need_comma = false;
}

void json_close(struct json *j, char bracket)
{
	append(j, &bracket, 1);
	j->need_comma = true;
}

int json_error(int exit_code, int error, const char *format, ...)
{
	struct json j = {0};
	char message[512];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	json_begin(&j, "error");
	json_signed(&j, "exit", exit_code);
	json_signed(&j, "errno", error);
	json_string(&j, "error", error ? errno_name(error) : "");
	json_string(&j, "message", message);
	json_send(&j);
	free(j.text);
	return exit_code;
}

/* Only the names that files and system calls of a board can return; musl has no strerrorname_np. */
const char *errno_name(int error)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{EPERM, "EPERM"},     {ENOENT, "ENOENT"},   {EINTR, "EINTR"},
		{EIO, "EIO"},         {ENXIO, "ENXIO"},     {E2BIG, "E2BIG"},
		{ENOEXEC, "ENOEXEC"}, {EBADF, "EBADF"},     {EAGAIN, "EAGAIN"},
		{ENOMEM, "ENOMEM"},   {EACCES, "EACCES"},   {EFAULT, "EFAULT"},
		{EBUSY, "EBUSY"},     {EEXIST, "EEXIST"},   {ENODEV, "ENODEV"},
		{ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"},   {EINVAL, "EINVAL"},
		{ENFILE, "ENFILE"},   {EMFILE, "EMFILE"},   {ENOTTY, "ENOTTY"},
		{EFBIG, "EFBIG"},     {ENOSPC, "ENOSPC"},   {ESPIPE, "ESPIPE"},
		{EROFS, "EROFS"},     {EPIPE, "EPIPE"},     {ERANGE, "ERANGE"},
		{ENOSYS, "ENOSYS"},   {ELOOP, "ELOOP"},     {ENODATA, "ENODATA"},
		{ESRCH, "ESRCH"},     {ECHILD, "ECHILD"},   {EXDEV, "EXDEV"},
		{EDOM, "EDOM"},       {EDEADLK, "EDEADLK"}, {ENOLINK, "ENOLINK"},
		{EPROTO, "EPROTO"},   {EBADMSG, "EBADMSG"}, {EILSEQ, "EILSEQ"},
		{ESTALE, "ESTALE"},   {EUCLEAN, "EUCLEAN"}, {EREMOTEIO, "EREMOTEIO"},
		{EOPNOTSUPP, "EOPNOTSUPP"}, {ETIMEDOUT, "ETIMEDOUT"}, {EOVERFLOW, "EOVERFLOW"},
		{ENAMETOOLONG, "ENAMETOOLONG"}, {ENOTCONN, "ENOTCONN"}, {ECANCELED, "ECANCELED"},
		{ECONNREFUSED, "ECONNREFUSED"},
		{ECONNRESET, "ECONNRESET"},
		{EHOSTUNREACH, "EHOSTUNREACH"},
		{ENETUNREACH, "ENETUNREACH"},
		{EADDRINUSE, "EADDRINUSE"},
		{EADDRNOTAVAIL, "EADDRNOTAVAIL"},
		{EAFNOSUPPORT, "EAFNOSUPPORT"},
		{EDESTADDRREQ, "EDESTADDRREQ"},
		{524, "ENOTSUPP"}, /* the kernel's own, which drivers let out by mistake */
	};
	static char unknown[24];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == error)
			return names[i].name;
	snprintf(unknown, sizeof(unknown), "errno %d", error);
	return unknown;
}
