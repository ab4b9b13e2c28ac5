/* What the kernel tells of a board only in answer to system calls: `fact` lines. */
#ifndef BV_FACTS_H
#define BV_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"

/* A `fact` line under construction is begun, gets its "value", and is sent. The subject may be
 * NULL. */
void fact_begin(struct json *j, const char *name, const char *subject);
void fact_send(struct json *j);

/* A whole line that says why there is no value. `error` is a positive errno, 0 for none. */
void fact_na(struct json *j, const char *name, const char *subject, int error, const char *why);

void facts_system(struct json *j);       /* machine, timers, limits, environment */
void facts_cpu_clock(struct json *j);    /* measured: takes a third of a second at most */
void facts_file_systems(struct json *j);
void facts_programs(struct json *j);     /* how the shell and its C library were built */
void facts_network(struct json *j);
void facts_kernel_log(struct json *j);

/* Two looks at all processes, BUSY_WINDOW_NS apart: the first one says which there are, the second
 * one which were busy. In between, processes_have_tty() tells whether one has that terminal. */
enum { BUSY_WINDOW_NS = 200000000 };
void facts_processes(struct json *j);
void facts_busy(struct json *j);
bool processes_have_tty(unsigned device);

void facts_consoles(struct json *j);

#endif
