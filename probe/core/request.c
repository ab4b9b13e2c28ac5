/* Parsing a request of `serve`: a JSON object with a number and two arrays of strings. */
#include "core/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *skip_space(char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
		p++;
	return p;
}

static int hex4(const char *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
			  : c >= 'a' && c <= 'f' ? c - 'a' + 10
			  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static char *put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	}
	return out;
}

/* Unescapes the string that begins at the quote p in place; returns what follows it, or NULL.
 * An escape is never shorter than what it stands for, so writing trails reading. \u0000 and
 * surrogates are refused: no argument or path of ours holds them. */
static char *parse_string(char *p, char **string)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	char *out = ++p;

	*string = out;
	for (;;) {
		char c = *p++;
		if (c == '"')
			break;
		if ((unsigned char)c < 0x20)
			return NULL;
		if (c != '\\') {
			*out++ = c;
			continue;
		}
		c = *p++;
		if (c == 'u') {
			int code = hex4(p);
			if (code <= 0 || (code >= 0xd800 && code < 0xe000))
				return NULL;
			out = put_utf8(out, (unsigned)code);
			p += 4;
			continue;
		}
		const char *known = c ? strchr(from, c) : NULL;
		if (!known)
			return NULL;
		*out++ = to[known - from];
	}
	*out = '\0';
	return p;
}

static char *parse_strings(char *p, char **strings, int most, int *count)
{
	*count = 0;
	if (*p != '[')
		return NULL;
	p = skip_space(p + 1);
	if (*p == ']')
		return p + 1;
	for (;;) {
		if (*p != '"' || *count == most)
			return NULL;
		p = parse_string(p, &strings[(*count)++]);
		if (!p)
			return NULL;
		p = skip_space(p);
		if (*p == ']')
			return p + 1;
		if (*p != ',')
			return NULL;
		p = skip_space(p + 1);
	}
}

/* At most 18 digits, and nothing that makes it a fraction. */
static char *parse_whole(char *p, uint64_t *number)
{
	size_t digits = strspn(p, "0123456789");

	if (digits == 0 || digits > 18 || strchr(".eE", p[digits] ? p[digits] : ' '))
		return NULL;
	*number = strtoull(p, NULL, 10);
	return p + digits;
}

/* One "key": value, from the key's quote on. */
static char *parse_member(char *p, struct request *request, const char **why)
{
	char *key;

	p = parse_string(p, &key);
	if (!p || *(p = skip_space(p)) != ':')
		return NULL;
	p = skip_space(p + 1);
	if (strcmp(key, "request") == 0) {
		*why = "\"request\" is a whole number of at most 18 digits";
		return parse_whole(p, &request->number);
	}
	if (strcmp(key, "args") == 0) {
		*why = "\"args\" is an array of at most 64 strings";
		return parse_strings(p, request->args, REQUEST_ARGS, &request->arg_count);
	}
	if (strcmp(key, "input") == 0) {
		*why = "\"input\" is an array of at most 1024 strings";
		return parse_strings(p, request->input, REQUEST_INPUT, &request->input_count);
	}
	*why = "a request has only the keys request, args and input";
	return NULL;
}

int json_parse_request(char *line, struct request *request, const char **why)
{
	static const char shape[] =
		"a request is an object: {\"request\": 1, \"args\": [\"list\"]}";
	char *p = skip_space(line);

	memset(request, 0, sizeof(*request));
	*why = shape;
	if (*p != '{')
		return -EINVAL;
	do {
		p = skip_space(p + 1);
		p = *p == '"' ? parse_member(p, request, why) : NULL;
		if (!p)
			return -EINVAL;
		*why = shape;
		p = skip_space(p);
	} while (*p == ',');
	if (*p != '}' || *skip_space(p + 1) != '\0')
		return -EINVAL;
	*why = "\"args\" is missing";
	return request->arg_count > 0 ? 0 : -EINVAL;
}
