/* Strings, numbers and reasons come out as valid JSON, whatever bytes a board puts into them. */
#include <math.h>

#include "core/json.h"
#include "tests/check.h"

static struct json j;

static const char *string(const char *value)
{
	json_begin(&j, "t");
	json_string(&j, "v", value);
	return j.text + strlen("{\"type\":\"t\",\"v\":");
}

static void test_strings(void)
{
	CHECK_TEXT(string(""), "\"\"");
	CHECK_TEXT(string("plain text"), "\"plain text\"");
	CHECK_TEXT(string("a\"b\\c"), "\"a\\u0022b\\u005cc\"");
	CHECK_TEXT(string("\x01\x1f\n\t\x1b[31m\x7f"),
		   "\"\\u0001\\u001f\\u000a\\u0009\\u001b[31m\\u007f\"");
	CHECK_TEXT(string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
		   "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

static void test_invalid_utf8(void)
{
	CHECK_TEXT(string("\xff"), "\"\\ufffd\"");
	CHECK_TEXT(string("a\x80z"), "\"a\\ufffdz\"");
	CHECK_TEXT(string("\xc3"), "\"\\ufffd\"");
	CHECK_TEXT(string("\xe2\x82"), "\"\\ufffd\\ufffd\"");
	CHECK_TEXT(string("\xc0\xaf"), "\"\\ufffd\\ufffd\"");             /* overlong */
	CHECK_TEXT(string("\xe0\x80\xaf"), "\"\\ufffd\\ufffd\\ufffd\"");  /* overlong */
	CHECK_TEXT(string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  /* a surrogate */
	CHECK_TEXT(string("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	CHECK_TEXT(string("\xf8\x88\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void test_numbers(void)
{
	json_begin(&j, "t");
	json_unsigned(&j, "u", UINT64_MAX);
	json_signed(&j, "s", INT64_MIN);
	json_number(&j, "d", 1.25e10);
	json_number(&j, "nan", NAN);
	json_number(&j, "inf", INFINITY);
	json_true(&j, "yes");
	CHECK_TEXT(j.text, "{\"type\":\"t\",\"u\":18446744073709551615,\"s\":-9223372036854775808,"
			   "\"d\":1.25e+10,\"nan\":{\"na\":\"not a finite number\"},"
			   "\"inf\":{\"na\":\"not a finite number\"},\"yes\":true");
}

static void test_nesting(void)
{
	json_begin(&j, "t");
	json_open(&j, "list", '[');
	json_close(&j, ']');
	json_open(&j, "items", '[');
	json_string(&j, NULL, "a");
	json_open(&j, NULL, '{');
	json_signed(&j, "n", 1);
	json_signed(&j, "m", 2);
	json_close(&j, '}');
	json_na(&j, NULL, "none");
	json_close(&j, ']');
	json_string(&j, "last", "x");
	CHECK_TEXT(j.text, "{\"type\":\"t\",\"list\":[],\"items\":[\"a\",{\"n\":1,\"m\":2},"
			   "{\"na\":\"none\"}],\"last\":\"x\"");
}

int main(void)
{
	test_strings();
	test_invalid_utf8();
	test_numbers();
	test_nesting();
	free(j.text);
	return 0;
}
