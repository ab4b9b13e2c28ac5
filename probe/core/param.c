/* Parameters of benchmarks. See param.h. */
#include "core/param.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find(const struct args *args, const char *name)
{
	for (int i = 0; i < args->count; i++)
		if (strcmp(args->params[i]->name, name) == 0)
			return i;
	return -1;
}

static int find_or_abort(const struct args *args, const char *name)
{
	int i = find(args, name);

	if (i < 0) {
		fprintf(stderr, "bvprobe: no parameter '%s' is declared\n", name);
		abort();
	}
	return i;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (const char *p = choices; p && *p && length > 0;) {
		size_t n = strcspn(p, " ");
		if (n == length && memcmp(p, value, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

/* A decimal number; sizes take a suffix K, M or G (powers of 1024). */
static int parse_number(enum param_type type, const char *text, uint64_t *number)
{
	char *end;
	int shift = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (type == PARAM_SIZE && *end)
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : -1;
	if (shift < 0 || (shift > 0 ? end[1] : end[0]) != '\0')
		return -EINVAL;
	if (errno == ERANGE || *number > UINT64_MAX >> shift)
		return -ERANGE;
	*number <<= shift;
	return 0;
}

static int check_text(const struct param *p, const char *text)
{
	size_t length = strlen(text);

	if (length < p->min || length > p->max)
		return -ERANGE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return -EINVAL;
	return 0;
}

static int parse_value(const struct param *p, const char *text, uint64_t *number)
{
	*number = 0;
	if (p->type == PARAM_CHOICE)
		return is_choice(p->choices, text) ? 0 : -EINVAL;
	if (p->type == PARAM_TEXT)
		return check_text(p, text);
	if (strcmp(p->initial, "auto") == 0 && strcmp(text, "auto") == 0) {
		*number = AUTO;
		return 0;
	}
	int error = parse_number(p->type, text, number);
	if (error)
		return error;
	return *number < p->min || *number > p->max ? -ERANGE : 0;
}

static int refuse(const char *who, const struct param *p, const char *text)
{
	if (p->type == PARAM_CHOICE)
		return json_error(2, EINVAL, "%s: %s=%s is none of: %s", who, p->name, text,
				  p->choices);
	if (p->type == PARAM_TEXT)
		return json_error(2, EINVAL, "%s: %s takes a text of %llu to %llu bytes without "
					     "control characters", who, p->name,
				  (unsigned long long)p->min, (unsigned long long)p->max);
	return json_error(2, EINVAL, "%s: %s=%s is not a %s from %llu to %llu%s", who, p->name,
			  text, p->type == PARAM_SIZE ? "size in bytes (suffix K, M, G)" : "number",
			  (unsigned long long)p->min, (unsigned long long)p->max,
			  strcmp(p->initial, "auto") == 0 ? ", or auto" : "");
}

static void add_table(struct args *args, const struct param *table)
{
	for (; table && table->name; table++) {
		if (args->count == PARAMS_MAX)
			abort();
		args->params[args->count] = table;
		args->text[args->count] = table->initial;
		if (parse_value(table, table->initial, &args->number[args->count]))
			abort(); /* a default outside its own range */
		args->count++;
	}
}

void args_begin(struct args *args, const struct param *common, const struct param *own)
{
	memset(args, 0, sizeof(*args));
	add_table(args, own);
	add_table(args, common);
}

void args_default(struct args *args, const char *name, const char *value)
{
	int at = find_or_abort(args, name);

	args->text[at] = value;
	if (parse_value(args->params[at], value, &args->number[at]))
		abort(); /* a default outside its own range */
}

int args_parse(struct args *args, const char *who, int argc, char *const argv[])
{
	for (int i = 0; i < argc; i += 2) {
		int at = strncmp(argv[i], "--", 2) == 0 ? find(args, argv[i] + 2) : -1;
		if (at < 0)
			return json_error(2, EINVAL,
					  "%s has no parameter '%s': `bvprobe list` names them",
					  who, argv[i]);
		if (i + 1 == argc)
			return json_error(2, EINVAL, "%s: %s needs a value", who, argv[i]);
		args->text[at] = argv[i + 1];
		if (parse_value(args->params[at], argv[i + 1], &args->number[at]))
			return refuse(who, args->params[at], argv[i + 1]);
	}
	return 0;
}

uint64_t arg_number(const struct args *args, const char *name)
{
	return args->number[find_or_abort(args, name)];
}

const char *arg_text(const struct args *args, const char *name)
{
	return args->text[find_or_abort(args, name)];
}

bool arg_is(const struct args *args, const char *name, const char *value)
{
	return strcmp(arg_text(args, name), value) == 0;
}

void args_describe(const struct args *args, struct json *j, const char *key)
{
	json_open(j, key, '{');
	for (int i = 0; i < args->count; i++)
		json_string(j, args->params[i]->name, args->text[i]);
	json_close(j, '}');
}

void params_describe(const struct param *params, struct json *j, const char *key)
{
	static const char *const types[] = {"size", "integer", "choice", "text"};

	json_open(j, key, '[');
	for (const struct param *p = params; p && p->name; p++) {
		json_open(j, NULL, '{');
		json_string(j, "name", p->name);
		json_string(j, "type", types[p->type]);
		json_string(j, "default", p->initial);
		if (p->type == PARAM_CHOICE) {
			json_open(j, "choices", '[');
			for (const char *c = p->choices; *c;) {
				char word[32];
				size_t n = strcspn(c, " ");
				snprintf(word, sizeof(word), "%.*s", (int)n, c);
				json_string(j, NULL, word);
				c += n + (c[n] == ' ');
			}
			json_close(j, ']');
		} else {
			json_unsigned(j, "min", p->min);
			json_unsigned(j, "max", p->max);
		}
		json_string(j, "summary", p->summary);
		json_close(j, '}');
	}
	json_close(j, ']');
}
