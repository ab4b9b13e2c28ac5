/* What is no request is refused with a reason, and nothing is read beyond the end of the line. */
#include "core/json.h"
#include "tests/check.h"

static struct request request;

/* In a heap block of exactly its size, so that a sanitizer sees one byte too many. */
static int parse(const char *text, const char **why)
{
	char *line = strdup(text);
	int error;

	CHECK(line != NULL);
	error = json_parse_request(line, &request, why);
	free(line);
	return error;
}

static void test_each(void)
{
	static const char *const lines[] = {
		"", " ", "x", "null", "[]", "\"\"", "7", "{", "{}", "{ }", "}", "{,}", "{\"",
		"{\"a", "{\"args\"", "{\"args\":", "{\"args\":[", "{\"args\":[\"",
		"{\"args\":[\"a", "{\"args\":[\"a\"", "{\"args\":[\"a\"]", "{\"args\":[\"a\"]}x",
		"{\"args\":[\"a\"]}{}", "{\"args\":[\"a\"],}", "{\"args\":[\"a\"] , }",
		"{\"args\":[\"a\"] \"request\":1}", "{,\"args\":[\"a\"]}", "{\"args\":[\"a\",]}",
		"{\"args\":[,\"a\"]}", "{\"args\":[\"a\" \"b\"]}", "{\"args\":[1]}",
		"{\"args\":[null]}", "{\"args\":[[\"a\"]]}", "{\"args\":\"a\"}", "{\"args\":{}}",
		"{\"args\":[]}", "{\"request\":1}", "{\"request\":\"1\",\"args\":[\"a\"]}",
		"{\"request\":-1,\"args\":[\"a\"]}", "{\"request\":1.5,\"args\":[\"a\"]}",
		"{\"request\":1e3,\"args\":[\"a\"]}",
		"{\"request\":1234567890123456789,\"args\":[\"a\"]}",
		"{\"request\":,\"args\":[\"a\"]}", "{\"request\":1 2,\"args\":[\"a\"]}",
		"{\"request\":true,\"args\":[\"a\"]}", "{\"other\":1,\"args\":[\"a\"]}",
		"{args:[\"a\"]}", "{'args':['a']}", "{\"args\":[\"\\\"]}", "{\"args\":[\"\\",
		"{\"args\":[\"\\x41\"]}", "{\"args\":[\"\\u\"]}", "{\"args\":[\"\\u12\"]}",
		"{\"args\":[\"\\u12", "{\"args\":[\"\\u00g0\"]}", "{\"args\":[\"\\u0000\"]}",
		"{\"args\":[\"\\ud83d\\ude00\"]}", "{\"args\":[\"\\udc80\"]}",
		"{\"args\":[\"a\tb\"]}", "{\"args\":[\"a\nb\"]}", "\x00\x01\x02",
		"\xff\xfe{\"args\":[\"a\"]}",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *why = NULL;
		if (parse(lines[i], &why) == 0 || !why || strlen(why) < 10) {
			fprintf(stderr, "%s: not refused with a reason\n", lines[i]);
			exit(1);
		}
	}
}

static void test_too_many(void)
{
	static char line[65536];
	const char *why;
	char *p = line + sprintf(line, "{\"args\":[\"0\"");

	for (int i = 0; i < REQUEST_ARGS; i++)
		p += sprintf(p, ",\"\"");
	strcpy(p, "]}");
	CHECK(parse(line, &why) != 0);
	CHECK(strstr(why, "64") != NULL);

	p = line + sprintf(line, "{\"args\":[\"read\"],\"input\":[\"0\"");
	for (int i = 0; i < REQUEST_INPUT; i++)
		p += sprintf(p, ",\"\"");
	strcpy(p, "]}");
	CHECK(parse(line, &why) != 0);
	CHECK(strstr(why, "1024") != NULL);
}

/* Nesting is refused at its first bracket: no depth can exhaust the stack. */
static void test_deep(void)
{
	static char line[65536];
	const char *why;
	size_t n = (size_t)sprintf(line, "{\"args\":");

	memset(line + n, '[', sizeof(line) - n - 1);
	CHECK(parse(line, &why) != 0);
}

/* Every beginning of a good request is either refused or the request without its end. */
static void test_every_beginning(void)
{
	static const char whole[] =
		"{\"request\": 12, \"args\": [\"r\\u0041\\n\"], \"input\": [\"\"]}";
	char part[sizeof(whole)];
	const char *why;

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		CHECK(parse(part, &why) != 0);
	}
	CHECK(parse(whole, &why) == 0);
}

static void test_number_survives(void)
{
	const char *why;

	CHECK(parse("{\"request\":12,\"args\":7}", &why) != 0);
	CHECK(request.number == 12);
}

int main(void)
{
	test_each();
	test_too_many();
	test_deep();
	test_every_beginning();
	test_number_survives();
	return 0;
}
