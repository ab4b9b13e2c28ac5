/* Whether a terminal is anybody's: each process counts, the first as well as the newest. */
#include "state/facts_processes.c" /* its table is its own */
#include "tests/check.h"

int main(void)
{
	for (int count = 0; count <= 4; count++) {
		process_count = count;
		for (int i = 0; i < 5; i++)
			processes[i].tty = 100 + i;
		for (int i = 0; i < 5; i++)
			CHECK(processes_have_tty((unsigned)(100 + i)) == (i < count));
		CHECK(!processes_have_tty(99));
	}
	return 0;
}
