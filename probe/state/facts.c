/* All facts, one line each. See facts.h. */
#include "state/facts.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "state/state.h"

static bool lost; /* nobody reads the lines */

void fact_begin(struct json *j, const char *name, const char *subject)
{
	json_begin(j, "fact");
	json_string(j, "name", name);
	if (subject)
		json_string(j, "subject", subject);
}

void fact_send(struct json *j)
{
	if (!lost)
		lost = json_send(j) != 0;
}

void fact_na(struct json *j, const char *name, const char *subject, int error, const char *why)
{
	char reason[160];

	snprintf(reason, sizeof(reason), "%s%s%s", error ? errno_name(error) : "",
		 error && *why ? ": " : "", why);
	fact_begin(j, name, subject);
	json_na(j, "value", reason);
	fact_send(j);
}

int state_facts_log(void)
{
	struct json j = {0};

	facts_kernel_log(&j);
	free(j.text);
	return lost ? 1 : 0;
}

int state_facts(void)
{
	struct json j = {0};
	uint64_t begin = clock_ns();

	facts_system(&j); /* first, as it says what time it is */
	facts_processes(&j);
	facts_consoles(&j);
	facts_file_systems(&j);
	facts_programs(&j);
	facts_network(&j);
	facts_kernel_log(&j);
	facts_busy(&j);
	facts_cpu_clock(&j); /* last, as it keeps the CPUs busy itself */
	fact_begin(&j, "duration_ns", NULL);
	json_unsigned(&j, "value", clock_ns() - begin);
	fact_send(&j);
	free(j.text);
	return lost ? 1 : 0;
}
