/* The system calls that have a name here: CALL(name, what it is about, in which argument).
 *
 * Included where CALL means something. What some architectures lack, or the C library that this is
 * built with, is left out there; so is what programs hardly ever wait for. */
CALL(execve, PATH, 0)
CALL(chdir, PATH, 0)
CALL(openat, PATH, 1)
CALL(execveat, PATH, 1)
CALL(statx, PATH, 1)
CALL(faccessat, PATH, 1)
CALL(readlinkat, PATH, 1)
CALL(unlinkat, PATH, 1)
CALL(mkdirat, PATH, 1)
CALL(renameat2, PATH, 1)
CALL(symlinkat, PATH, 2)
CALL(linkat, PATH, 3)
CALL(read, FILE, 0)
CALL(write, FILE, 0)
CALL(readv, FILE, 0)
CALL(writev, FILE, 0)
CALL(pread64, FILE, 0)
CALL(pwrite64, FILE, 0)
CALL(preadv, FILE, 0)
CALL(pwritev, FILE, 0)
CALL(preadv2, FILE, 0)
CALL(pwritev2, FILE, 0)
CALL(fsync, FILE, 0)
CALL(fdatasync, FILE, 0)
CALL(syncfs, FILE, 0)
CALL(fstat, FILE, 0)
CALL(ioctl, FILE, 0)
CALL(getdents64, FILE, 0)
CALL(flock, FILE, 0)
CALL(fcntl, FILE, 0)
CALL(fallocate, FILE, 0)
CALL(ftruncate, FILE, 0)
CALL(sendfile, FILE, 0)
CALL(splice, FILE, 0)
CALL(copy_file_range, FILE, 0)
CALL(lseek, FILE, 0)
CALL(recvfrom, FILE, 0)
CALL(recvmsg, FILE, 0)
CALL(recvmmsg, FILE, 0)
CALL(sendmsg, FILE, 0)
CALL(sendmmsg, FILE, 0)
CALL(accept, FILE, 0)
CALL(accept4, FILE, 0)
CALL(listen, FILE, 0)
CALL(fchdir, FILE, 0)
CALL(connect, ADDRESS, 1)
CALL(bind, ADDRESS, 1)
CALL(sendto, ADDRESS, 4)
CALL(ppoll, POLLED, 0)
CALL(pselect6, SELECTED, 0)
CALL(epoll_pwait, EPOLL, 0)
CALL(close, NOTHING, 0)
CALL(brk, NOTHING, 0)
CALL(munmap, NOTHING, 0)
CALL(mprotect, NOTHING, 0)
CALL(madvise, NOTHING, 0)
CALL(mremap, NOTHING, 0)
CALL(msync, NOTHING, 0)
CALL(mlockall, NOTHING, 0)
CALL(rt_sigaction, NOTHING, 0)
CALL(rt_sigprocmask, NOTHING, 0)
CALL(rt_sigsuspend, NOTHING, 0)
CALL(rt_sigtimedwait, NOTHING, 0)
CALL(dup, NOTHING, 0)
CALL(dup3, NOTHING, 0)
CALL(pipe2, NOTHING, 0)
CALL(eventfd2, NOTHING, 0)
CALL(sync, NOTHING, 0)
CALL(exit, NOTHING, 0)
CALL(exit_group, NOTHING, 0)
CALL(wait4, NOTHING, 0)
CALL(waitid, NOTHING, 0)
CALL(clone, NOTHING, 0)
CALL(futex, NOTHING, 0)
CALL(nanosleep, NOTHING, 0)
CALL(sched_yield, NOTHING, 0)
CALL(sched_setaffinity, NOTHING, 0)
CALL(sched_getaffinity, NOTHING, 0)
CALL(epoll_create1, NOTHING, 0)
CALL(epoll_ctl, NOTHING, 0)
CALL(timerfd_create, NOTHING, 0)
CALL(setitimer, NOTHING, 0)
CALL(socket, NOTHING, 0)
CALL(socketpair, NOTHING, 0)
CALL(setsockopt, NOTHING, 0)
CALL(getsockopt, NOTHING, 0)
CALL(getrandom, NOTHING, 0)
CALL(semop, NOTHING, 0)
CALL(semtimedop, NOTHING, 0)
CALL(msgsnd, NOTHING, 0)
CALL(msgrcv, NOTHING, 0)
CALL(io_submit, NOTHING, 0)
CALL(io_getevents, NOTHING, 0)
CALL(kill, NOTHING, 0)
CALL(getpid, NOTHING, 0)
CALL(prlimit64, NOTHING, 0)
#ifdef SYS_open
CALL(open, PATH, 0)
#endif
#ifdef SYS_creat
CALL(creat, PATH, 0)
#endif
#ifdef SYS_stat
CALL(stat, PATH, 0)
#endif
#ifdef SYS_lstat
CALL(lstat, PATH, 0)
#endif
#ifdef SYS_access
CALL(access, PATH, 0)
#endif
#ifdef SYS_readlink
CALL(readlink, PATH, 0)
#endif
#ifdef SYS_symlink
CALL(symlink, PATH, 1)
CALL(link, PATH, 1)
#endif
#ifdef SYS_unlink
CALL(unlink, PATH, 0)
#endif
#ifdef SYS_mkdir
CALL(mkdir, PATH, 0)
#endif
#ifdef SYS_rename
CALL(rename, PATH, 0)
#endif
#ifdef SYS_stat64
CALL(stat64, PATH, 0)
#endif
#ifdef SYS_openat2
CALL(openat2, PATH, 1)
#endif
#ifdef SYS_newfstatat
CALL(newfstatat, PATH, 1)
#endif
#ifdef SYS_fstatat64
CALL(fstatat64, PATH, 1)
#endif
#ifdef SYS_faccessat2
CALL(faccessat2, PATH, 1)
#endif
#ifdef SYS_renameat
CALL(renameat, PATH, 1)
#endif
#ifdef SYS_utimensat
CALL(utimensat, PATH, 1)
#endif
#ifdef SYS_fstat64
CALL(fstat64, FILE, 0)
#endif
#ifdef SYS_getdents
CALL(getdents, FILE, 0)
#endif
#ifdef SYS_fcntl64
CALL(fcntl64, FILE, 0)
#endif
#ifdef SYS_sync_file_range
CALL(sync_file_range, FILE, 0)
#endif
#ifdef SYS_recv
CALL(recv, FILE, 0)
#endif
#ifdef SYS_recvmmsg_time64
CALL(recvmmsg_time64, FILE, 0)
#endif
#ifdef SYS_send
CALL(send, FILE, 0)
#endif
#ifdef SYS_poll
CALL(poll, POLLED, 0)
#endif
#ifdef SYS_ppoll_time64
CALL(ppoll_time64, POLLED, 0)
#endif
#ifdef SYS_select
CALL(select, SELECTED, 0)
#endif
#ifdef SYS__newselect
CALL(_newselect, SELECTED, 0)
#endif
#ifdef SYS_pselect6_time64
CALL(pselect6_time64, SELECTED, 0)
#endif
#ifdef SYS_epoll_wait
CALL(epoll_wait, EPOLL, 0)
#endif
#ifdef SYS_epoll_pwait2
CALL(epoll_pwait2, EPOLL, 0)
#endif
#ifdef SYS_close_range
CALL(close_range, NOTHING, 0)
#endif
#ifdef SYS_mmap
CALL(mmap, NOTHING, 0)
#endif
#ifdef SYS_mmap2
CALL(mmap2, NOTHING, 0)
#endif
#ifdef SYS_rt_sigtimedwait_time64
CALL(rt_sigtimedwait_time64, NOTHING, 0)
#endif
#ifdef SYS_pause
CALL(pause, NOTHING, 0)
#endif
#ifdef SYS_dup2
CALL(dup2, NOTHING, 0)
#endif
#ifdef SYS_pipe
CALL(pipe, NOTHING, 0)
#endif
#ifdef SYS_eventfd
CALL(eventfd, NOTHING, 0)
#endif
#ifdef SYS_clone3
CALL(clone3, NOTHING, 0)
#endif
#ifdef SYS_fork
CALL(fork, NOTHING, 0)
#endif
#ifdef SYS_vfork
CALL(vfork, NOTHING, 0)
#endif
#ifdef SYS_futex_time64
CALL(futex_time64, NOTHING, 0)
#endif
#ifdef SYS_futex_waitv
CALL(futex_waitv, NOTHING, 0)
#endif
#ifdef SYS_clock_nanosleep_time64
CALL(clock_nanosleep_time64, NOTHING, 0)
#endif
#ifdef SYS_epoll_create
CALL(epoll_create, NOTHING, 0)
#endif
#ifdef SYS_io_uring_setup
CALL(io_uring_setup, NOTHING, 0)
#endif
#ifdef SYS_io_uring_enter
CALL(io_uring_enter, NOTHING, 0)
#endif
#ifdef SYS_timerfd_settime
CALL(timerfd_settime, FILE, 0)
#endif
#ifdef SYS_clock_nanosleep
CALL(clock_nanosleep, NOTHING, 0)
#endif
#ifdef SYS_clock_nanosleep_time32
CALL(clock_nanosleep_time32, NOTHING, 0)
#endif
#ifdef SYS_futex_time32
CALL(futex_time32, NOTHING, 0)
#endif
