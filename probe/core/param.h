/* Parameters of benchmarks: declared once, described by `list`, parsed from the command line. */
#ifndef BV_PARAM_H
#define BV_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"

enum param_type { PARAM_SIZE, PARAM_INTEGER, PARAM_CHOICE, PARAM_TEXT };

/* `choices` are separated by single spaces. An integer may have the default "auto", which is then
 * a legal value too and reads as AUTO. A text (a path, an address) has from min to max bytes and no
 * control characters. A table ends with a NULL name. */
struct param {
	const char *name;
	enum param_type type;
	const char *initial;
	uint64_t min, max;
	const char *choices;
	const char *summary;
};

#define AUTO UINT64_MAX
enum { PARAMS_MAX = 24 };

/* The values in effect: those of the common table and of the benchmark's own. */
struct args {
	const struct param *params[PARAMS_MAX];
	const char *text[PARAMS_MAX];
	uint64_t number[PARAMS_MAX];
	int count;
};

/* Both tables at their defaults. */
void args_begin(struct args *args, const struct param *common, const struct param *own);

/* Another default for one of them. Aborts when it is no legal value. */
void args_default(struct args *args, const char *name, const char *value);

/* Parses `--name value` pairs. Returns 0, or 2 after an error line. */
int args_parse(struct args *args, const char *who, int argc, char *const argv[]);

/* All these abort on a name that no table declares: that is a mistake in the program. */
uint64_t arg_number(const struct args *args, const char *name);
const char *arg_text(const struct args *args, const char *name);
bool arg_is(const struct args *args, const char *name, const char *value);

void args_describe(const struct args *args, struct json *j, const char *key);
void params_describe(const struct param *params, struct json *j, const char *key);

#endif
