/* A request of `serve` is understood however JSON lets it be written. */
#include "core/json.h"
#include "tests/check.h"

static struct request request;

static void parse(const char *text)
{
	static char line[65536];
	const char *why;

	strcpy(line, text);
	if (json_parse_request(line, &request, &why) != 0) {
		fprintf(stderr, "%s: refused: %s\n", text, why);
		exit(1);
	}
}

static void test_members(void)
{
	parse("{\"request\": 7, \"args\": [\"run\", \"memory.copy\", \"--size\", \"1M\"]}");
	CHECK(request.number == 7 && request.arg_count == 4 && request.input_count == 0);
	CHECK_TEXT(request.args[0], "run");
	CHECK_TEXT(request.args[3], "1M");
	CHECK(request.args[4] == NULL);

	parse("{\"input\":[\"/a\",\"/b*\"],\"args\":[\"read\"]}");
	CHECK(request.number == 0 && request.arg_count == 1 && request.input_count == 2);
	CHECK_TEXT(request.input[1], "/b*");

	parse(" \t{ \"args\" : [ \"list\" ] , \"input\" : [ ] , \"request\" : 0 } \r\n");
	CHECK(request.number == 0 && request.arg_count == 1 && request.input_count == 0);

	parse("{\"request\":999999999999999999,\"args\":[\"\"]}");
	CHECK(request.number == 999999999999999999u && request.args[0][0] == '\0');
}

static void test_escapes(void)
{
	parse("{\"args\":[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]}");
	CHECK_TEXT(request.args[0], "\"\\/\b\f\n\r\t");
	parse("{\"\\u0061rgs\":[\"A\\u0042\\u00e9\\u20AC\\uffff\"]}");
	CHECK_TEXT(request.args[0], "AB\xc3\xa9\xe2\x82\xac\xef\xbf\xbf");
	parse("{\"args\":[\"\xc3\xa9 \xf0\x9f\x98\x80 \xff\"]}");
	CHECK_TEXT(request.args[0], "\xc3\xa9 \xf0\x9f\x98\x80 \xff");
}

static void test_most(void)
{
	static char line[65536];
	char *p = line + sprintf(line, "{\"args\":[\"0\"");

	for (int i = 1; i < REQUEST_ARGS; i++)
		p += sprintf(p, ",\"%d\"", i);
	p += sprintf(p, "],\"input\":[\"0\"");
	for (int i = 1; i < REQUEST_INPUT; i++)
		p += sprintf(p, ",\"%d\"", i);
	strcpy(p, "]}");
	parse(line);
	CHECK(request.arg_count == REQUEST_ARGS && request.input_count == REQUEST_INPUT);
	CHECK_TEXT(request.args[63], "63");
	CHECK(request.args[64] == NULL);
	CHECK_TEXT(request.input[1023], "1023");
}

int main(void)
{
	test_members();
	test_escapes();
	test_most();
	return 0;
}
