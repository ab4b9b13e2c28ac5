/* Every errno has a name, at worst its number. */
#include <errno.h>

#include "core/json.h"
#include "tests/check.h"

int main(void)
{
	CHECK_TEXT(errno_name(ENOENT), "ENOENT");
	CHECK_TEXT(errno_name(EACCES), "EACCES");
	CHECK_TEXT(errno_name(EREMOTEIO), "EREMOTEIO");
	CHECK_TEXT(errno_name(524), "ENOTSUPP");
	CHECK_TEXT(errno_name(4000), "errno 4000");
	return 0;
}
