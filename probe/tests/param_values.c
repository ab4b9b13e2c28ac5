/* Parameters within their range are taken, sizes with their suffix; the rest keeps its default. */
#include "core/param.h"
#include "tests/check.h"

static const struct param common[] = {
	{"cpu", PARAM_INTEGER, "auto", 0, 1023, NULL, ""},
	{"batches", PARAM_INTEGER, "21", 1, 100, NULL, ""},
	{0},
};
static const struct param own[] = {
	{"size", PARAM_SIZE, "64M", 4096, 1ull << 30, NULL, ""},
	{"order", PARAM_CHOICE, "random", 0, 0, "random local", ""},
	{"file", PARAM_TEXT, "auto", 1, 255, NULL, ""},
	{0},
};

static struct args args;

static int parse(char *const argv[])
{
	int argc = 0;

	while (argv[argc])
		argc++;
	args_begin(&args, common, own);
	args_default(&args, "batches", "7");
	return args_parse(&args, "test", argc, argv);
}

#define PARSE(...) parse((char *[]){__VA_ARGS__, NULL})

static void test_sizes(void)
{
	CHECK(PARSE("--size", "4096") == 0 && arg_number(&args, "size") == 4096);
	CHECK(PARSE("--size", "4K") == 0 && arg_number(&args, "size") == 4096);
	CHECK(PARSE("--size", "3M") == 0 && arg_number(&args, "size") == 3u << 20);
	CHECK(PARSE("--size", "1G") == 0 && arg_number(&args, "size") == 1u << 30);
	CHECK(PARSE("--size", "1073741824") == 0 && arg_number(&args, "size") == 1u << 30);
}

int main(void)
{
	struct json j = {0};

	CHECK(parse((char *[]){NULL}) == 0);
	CHECK(args.count == 5);
	CHECK(arg_number(&args, "size") == 64u << 20 && arg_number(&args, "batches") == 7);
	CHECK(arg_number(&args, "cpu") == AUTO && arg_is(&args, "order", "random"));
	test_sizes();
	CHECK(PARSE("--cpu", "0") == 0 && arg_number(&args, "cpu") == 0);
	CHECK(PARSE("--cpu", "1023") == 0 && arg_number(&args, "cpu") == 1023);
	CHECK(PARSE("--cpu", "3", "--cpu", "auto") == 0 && arg_number(&args, "cpu") == AUTO);
	CHECK(PARSE("--order", "local", "--batches", "100") == 0);
	CHECK(PARSE("--file", "/a b/\xc3\xa4,c") == 0 && arg_is(&args, "file", "/a b/\xc3\xa4,c"));
	CHECK(PARSE("--order", "local", "--batches", "100") == 0);
	CHECK(arg_is(&args, "order", "local") && arg_number(&args, "batches") == 100);
	CHECK_TEXT(arg_text(&args, "size"), "64M");

	json_begin(&j, "t");
	args_describe(&args, &j, "params");
	CHECK_TEXT(j.text, "{\"type\":\"t\",\"params\":{\"size\":\"64M\",\"order\":\"local\","
			   "\"file\":\"auto\",\"cpu\":\"auto\",\"batches\":\"100\"}");
	json_begin(&j, "t");
	params_describe(own, &j, "p");
	CHECK_TEXT(j.text, "{\"type\":\"t\",\"p\":[{\"name\":\"size\",\"type\":\"size\","
			   "\"default\":\"64M\",\"min\":4096,\"max\":1073741824,\"summary\":\"\"},"
			   "{\"name\":\"order\",\"type\":\"choice\",\"default\":\"random\","
			   "\"choices\":[\"random\",\"local\"],\"summary\":\"\"},"
			   "{\"name\":\"file\",\"type\":\"text\",\"default\":\"auto\","
			   "\"min\":1,\"max\":255,\"summary\":\"\"}]");
	free(j.text);
	return 0;
}
