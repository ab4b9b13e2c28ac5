/* Parameters that do not exist or are out of range end with exit code 2 and one line that names the
 * parameter and what it may be. */
#include "core/param.h"
#include "tests/check.h"

static const struct param own[] = {
	{"size", PARAM_SIZE, "64M", 4096, 1ull << 30, NULL, ""},
	{"count", PARAM_INTEGER, "auto", 1, 1000, NULL, ""},
	{"order", PARAM_CHOICE, "random", 0, 0, "random local", ""},
	{"file", PARAM_TEXT, "auto", 1, 8, NULL, ""},
	{0},
};

static int out;

static void refused(char *name, char *value, const char *message)
{
	struct args args;
	char *argv[] = {name, value};
	const char *line;

	args_begin(&args, NULL, own);
	CHECK(args_parse(&args, "test", value ? 2 : 1, argv) == 2);
	line = captured(out);
	if (!strstr(line, message) || strchr(line, '\n') != line + strlen(line) - 1) {
		fprintf(stderr, "%s %s: %s", name, value ? value : "", line);
		exit(1);
	}
}

int main(void)
{
	static char *const bad_sizes[] = {
		"", " 64M", "64M ", "-1", "+4096", "0", "4095", "1073741825", "2G", "1T", "64m",
		"64KB", "K", "4.5K", "0x1000", "1e9", "99999999999999999999",
		"18446744073709551615G", "auto",
	};
	static char *const bad_counts[] = {"", "0", "1001", "10K", "1.5", "autox", "AUTO", "-0",
					   "18446744073709551615"};
	static char *const bad_choices[] = {"", " ", "Random", "rando", "randomx", "random local"};

	out = capture();
	for (size_t i = 0; i < sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++)
		refused("--size", bad_sizes[i], "is not a size in bytes (suffix K, M, G) from 4096 "
						"to 1073741824");
	for (size_t i = 0; i < sizeof(bad_counts) / sizeof(bad_counts[0]); i++)
		refused("--count", bad_counts[i], "is not a number from 1 to 1000, or auto");
	for (size_t i = 0; i < sizeof(bad_choices) / sizeof(bad_choices[0]); i++)
		refused("--order", bad_choices[i], "is none of: random local");
	refused("--file", "", "file takes a text of 1 to 8 bytes without control characters");
	refused("--file", "/too/long", "file takes a text of 1 to 8 bytes");
	refused("--file", "a\nb", "file takes a text of 1 to 8 bytes");
	refused("--speed", "1", "test has no parameter '--speed'");
	refused("size", "64M", "test has no parameter 'size'");
	refused("--", "64M", "test has no parameter '--'");
	refused("", "", "test has no parameter ''");
	refused("--size", NULL, "--size needs a value");
	return 0;
}
