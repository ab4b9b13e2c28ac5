/* Every benchmark, by family. */
#ifndef BV_BENCHMARKS_H
#define BV_BENCHMARKS_H

#include "core/batch.h"

extern const struct benchmark command_time;
extern const struct benchmark cpu_clock;
extern const struct benchmark cpu_sustained;
extern const struct benchmark memory_copy;
extern const struct benchmark memory_fill;
extern const struct benchmark memory_read;
extern const struct benchmark memory_libc_copy;
extern const struct benchmark memory_latency;
extern const struct benchmark memory_triad;
extern const struct benchmark memory_line;
extern const struct benchmark memory_tlb;
extern const struct benchmark os_syscall;
extern const struct benchmark os_context_switch;
extern const struct benchmark os_context_switch_grid;
extern const struct benchmark os_signal;
extern const struct benchmark os_fork;
extern const struct benchmark os_exec;
extern const struct benchmark os_thread;
extern const struct benchmark os_page_fault;
extern const struct benchmark os_mmap;
extern const struct benchmark os_futex;
extern const struct benchmark os_eventfd;
extern const struct benchmark os_semaphore;
extern const struct benchmark socket_latency;
extern const struct benchmark socket_throughput;
extern const struct benchmark pipe_latency;
extern const struct benchmark pipe_throughput;
extern const struct benchmark storage_read;
extern const struct benchmark storage_write;
extern const struct benchmark storage_random_read;
extern const struct benchmark storage_random_write;
extern const struct benchmark storage_fsync;
extern const struct benchmark timer_wakeup;
extern const struct benchmark timer_clock;
extern const struct benchmark gpio_response;
extern const struct benchmark net_tcp;
extern const struct benchmark net_udp;
extern const struct benchmark net_latency;

#endif
