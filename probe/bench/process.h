/* What os.exec starts. */
#ifndef BV_PROCESS_H
#define BV_PROCESS_H

/* The probe ends at once, with 0, when this is its only argument. */
#define PROCESS_EXIT "exit"

#endif
