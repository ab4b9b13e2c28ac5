/* What may be told of an environment, which holds secrets too: the values of variables that are
 * known to change how programs run, and those that are paths or addresses; of others that they are
 * there, and whether it is with the value that another board has. */
#ifndef BV_ENVIRONMENT_H
#define BV_ENVIRONMENT_H

#include <stdbool.h>

#include "core/json.h"

/* Adds one NAME=VALUE. */
void environment_describe(struct json *j, const char *variable);

/* Whether each login makes it up (SSH_CONNECTION) or it belongs to the user's session (USER), and
 * it leads to no place that a program may open or ask. */
bool environment_is_of_session(const char *variable);

#endif
