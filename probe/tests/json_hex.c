/* Bytes of a file come out as text when they are UTF-8 text, else as hexadecimal digits. */
#include "core/json.h"
#include "tests/check.h"

static struct json j;

static const char *bytes(const char *value, size_t length)
{
	json_begin(&j, "t");
	json_bytes(&j, "value", value, length);
	return j.text + strlen("{\"type\":\"t\",");
}

int main(void)
{
	static char big[65536];
	const char *text;

	CHECK_TEXT(bytes("", 0), "\"value\":\"\"");
	CHECK_TEXT(bytes("performance\n", 12), "\"value\":\"performance\\u000a\"");
	CHECK_TEXT(bytes("\xc3\xa9", 2), "\"value\":\"\xc3\xa9\"");
	CHECK_TEXT(bytes("ok\0", 3), "\"hex\":\"6f6b00\"");
	CHECK_TEXT(bytes("\0\0\0\x2a", 4), "\"hex\":\"0000002a\"");
	CHECK_TEXT(bytes("a\xff", 2), "\"hex\":\"61ff\"");
	CHECK_TEXT(bytes("\xc3", 1), "\"hex\":\"c3\"");
	CHECK_TEXT(bytes("\xc3\xa9", 1), "\"hex\":\"c3\""); /* what follows is not looked at */

	memset(big, 0xee, sizeof(big));
	text = bytes(big, sizeof(big));
	CHECK(strlen(text) == strlen("\"hex\":\"\"") + 2 * sizeof(big));
	CHECK(strspn(text + strlen("\"hex\":\""), "e") == 2 * sizeof(big));
	free(j.text);
	return 0;
}
