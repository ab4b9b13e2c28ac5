/* System calls by number. See calls.h. */
#include "follow/calls.h"

#include <stddef.h>
#include <sys/syscall.h>

#define CALL(name, about, argument) {SYS_##name, #name, ABOUT_##about, argument}

static const struct call calls[] = {
	/* what every architecture has that the probe is built for */
	CALL(execve, PATH, 0),
	CALL(chdir, PATH, 0),
	CALL(mount, PATH, 0),
	CALL(umount2, PATH, 0),
	CALL(statfs, PATH, 0),
	CALL(truncate, PATH, 0),
	CALL(acct, PATH, 0),
	CALL(swapon, PATH, 0),
	CALL(swapoff, PATH, 0),
	CALL(pivot_root, PATH, 0),
	CALL(chroot, PATH, 0),
	CALL(openat, PATH, 1),
	CALL(execveat, PATH, 1),
	CALL(statx, PATH, 1),
	CALL(faccessat, PATH, 1),
	CALL(readlinkat, PATH, 1),
	CALL(unlinkat, PATH, 1),
	CALL(mkdirat, PATH, 1),
	CALL(renameat2, PATH, 1),
	CALL(fchmodat, PATH, 1),
	CALL(fchownat, PATH, 1),
	CALL(mknodat, PATH, 1),
	CALL(name_to_handle_at, PATH, 1),
	CALL(inotify_add_watch, PATH, 1),
	CALL(read, FILE, 0),
	CALL(write, FILE, 0),
	CALL(readv, FILE, 0),
	CALL(writev, FILE, 0),
	CALL(pread64, FILE, 0),
	CALL(pwrite64, FILE, 0),
	CALL(preadv, FILE, 0),
	CALL(pwritev, FILE, 0),
	CALL(preadv2, FILE, 0),
	CALL(pwritev2, FILE, 0),
	CALL(fsync, FILE, 0),
	CALL(fdatasync, FILE, 0),
	CALL(syncfs, FILE, 0),
	CALL(fstat, FILE, 0),
	CALL(ioctl, FILE, 0),
	CALL(getdents64, FILE, 0),
	CALL(flock, FILE, 0),
	CALL(fcntl, FILE, 0),
	CALL(fallocate, FILE, 0),
	CALL(ftruncate, FILE, 0),
	CALL(fchmod, FILE, 0),
	CALL(fchown, FILE, 0),
	CALL(sendfile, FILE, 0),
	CALL(splice, FILE, 0),
	CALL(tee, FILE, 0),
	CALL(copy_file_range, FILE, 0),
	CALL(readahead, FILE, 0),
	CALL(lseek, FILE, 0),
	CALL(fstatfs, FILE, 0),
	CALL(recvfrom, FILE, 0),
	CALL(recvmsg, FILE, 0),
	CALL(recvmmsg, FILE, 0),
	CALL(sendmsg, FILE, 0),
	CALL(sendmmsg, FILE, 0),
	CALL(accept, FILE, 0),
	CALL(accept4, FILE, 0),
	CALL(listen, FILE, 0),
	CALL(shutdown, FILE, 0),
	CALL(getsockname, FILE, 0),
	CALL(getpeername, FILE, 0),
	CALL(fchdir, FILE, 0),
	CALL(timerfd_settime, FILE, 0),
	CALL(mq_timedsend, FILE, 0),
	CALL(mq_timedreceive, FILE, 0),
	CALL(inotify_rm_watch, FILE, 0),
	CALL(connect, ADDRESS, 1),
	CALL(bind, ADDRESS, 1),
	CALL(sendto, ADDRESS, 4),
	CALL(ppoll, POLLED, 0),
	CALL(pselect6, SELECTED, 0),
	CALL(epoll_pwait, EPOLL, 0),
	CALL(close, NOTHING, 0),
	CALL(brk, NOTHING, 0),
	CALL(munmap, NOTHING, 0),
	CALL(mprotect, NOTHING, 0),
	CALL(madvise, NOTHING, 0),
	CALL(mremap, NOTHING, 0),
	CALL(msync, NOTHING, 0),
	CALL(mlock, NOTHING, 0),
	CALL(mlock2, NOTHING, 0),
	CALL(munlock, NOTHING, 0),
	CALL(mlockall, NOTHING, 0),
	CALL(munlockall, NOTHING, 0),
	CALL(mincore, NOTHING, 0),
	CALL(rt_sigaction, NOTHING, 0),
	CALL(rt_sigprocmask, NOTHING, 0),
	CALL(rt_sigreturn, NOTHING, 0),
	CALL(rt_sigsuspend, NOTHING, 0),
	CALL(rt_sigtimedwait, NOTHING, 0),
	CALL(rt_sigpending, NOTHING, 0),
	CALL(sigaltstack, NOTHING, 0),
	CALL(dup, NOTHING, 0),
	CALL(dup3, NOTHING, 0),
	CALL(pipe2, NOTHING, 0),
	CALL(eventfd2, NOTHING, 0),
	CALL(signalfd4, NOTHING, 0),
	CALL(sync, NOTHING, 0),
	CALL(getcwd, NOTHING, 0),
	CALL(umask, NOTHING, 0),
	CALL(linkat, NOTHING, 0),
	CALL(symlinkat, NOTHING, 0),
	CALL(exit, NOTHING, 0),
	CALL(exit_group, NOTHING, 0),
	CALL(wait4, NOTHING, 0),
	CALL(waitid, NOTHING, 0),
	CALL(clone, NOTHING, 0),
	CALL(futex, NOTHING, 0),
	CALL(nanosleep, NOTHING, 0),
	CALL(clock_nanosleep, NOTHING, 0),
	CALL(clock_gettime, NOTHING, 0),
	CALL(clock_getres, NOTHING, 0),
	CALL(gettimeofday, NOTHING, 0),
	CALL(times, NOTHING, 0),
	CALL(sched_yield, NOTHING, 0),
	CALL(sched_setaffinity, NOTHING, 0),
	CALL(sched_getaffinity, NOTHING, 0),
	CALL(sched_setscheduler, NOTHING, 0),
	CALL(setpriority, NOTHING, 0),
	CALL(getpriority, NOTHING, 0),
	CALL(epoll_create1, NOTHING, 0),
	CALL(epoll_ctl, NOTHING, 0),
	CALL(timerfd_create, NOTHING, 0),
	CALL(timer_create, NOTHING, 0),
	CALL(timer_settime, NOTHING, 0),
	CALL(setitimer, NOTHING, 0),
	CALL(getitimer, NOTHING, 0),
	CALL(inotify_init1, NOTHING, 0),
	CALL(fanotify_init, NOTHING, 0),
	CALL(socket, NOTHING, 0),
	CALL(socketpair, NOTHING, 0),
	CALL(setsockopt, NOTHING, 0),
	CALL(getsockopt, NOTHING, 0),
	CALL(getrandom, NOTHING, 0),
	CALL(semget, NOTHING, 0),
	CALL(semop, NOTHING, 0),
	CALL(semtimedop, NOTHING, 0),
	CALL(semctl, NOTHING, 0),
	CALL(msgget, NOTHING, 0),
	CALL(msgsnd, NOTHING, 0),
	CALL(msgrcv, NOTHING, 0),
	CALL(shmget, NOTHING, 0),
	CALL(shmat, NOTHING, 0),
	CALL(shmdt, NOTHING, 0),
	CALL(shmctl, NOTHING, 0),
	CALL(io_setup, NOTHING, 0),
	CALL(io_submit, NOTHING, 0),
	CALL(io_getevents, NOTHING, 0),
	CALL(kill, NOTHING, 0),
	CALL(tgkill, NOTHING, 0),
	CALL(tkill, NOTHING, 0),
	CALL(memfd_create, NOTHING, 0),
	CALL(userfaultfd, NOTHING, 0),
	CALL(prctl, NOTHING, 0),
	CALL(seccomp, NOTHING, 0),
	CALL(bpf, NOTHING, 0),
	CALL(perf_event_open, NOTHING, 0),
	CALL(ptrace, NOTHING, 0),
	CALL(membarrier, NOTHING, 0),
	CALL(set_robust_list, NOTHING, 0),
	CALL(set_tid_address, NOTHING, 0),
	CALL(getpid, NOTHING, 0),
	CALL(gettid, NOTHING, 0),
	CALL(getppid, NOTHING, 0),
	CALL(getpgid, NOTHING, 0),
	CALL(setpgid, NOTHING, 0),
	CALL(getsid, NOTHING, 0),
	CALL(setsid, NOTHING, 0),
	CALL(getuid, NOTHING, 0),
	CALL(geteuid, NOTHING, 0),
	CALL(getgid, NOTHING, 0),
	CALL(getegid, NOTHING, 0),
	CALL(setuid, NOTHING, 0),
	CALL(setgid, NOTHING, 0),
	CALL(setresuid, NOTHING, 0),
	CALL(setresgid, NOTHING, 0),
	CALL(getgroups, NOTHING, 0),
	CALL(sysinfo, NOTHING, 0),
	CALL(uname, NOTHING, 0),
	CALL(getrusage, NOTHING, 0),
	CALL(prlimit64, NOTHING, 0),
	CALL(unshare, NOTHING, 0),
	CALL(setns, NOTHING, 0),
	CALL(capget, NOTHING, 0),
	CALL(capset, NOTHING, 0),
	CALL(personality, NOTHING, 0),
	CALL(reboot, NOTHING, 0),
	CALL(init_module, NOTHING, 0),
	CALL(finit_module, NOTHING, 0),
	CALL(delete_module, NOTHING, 0),
	CALL(process_vm_readv, NOTHING, 0),
	CALL(process_vm_writev, NOTHING, 0),
	CALL(vmsplice, NOTHING, 0),
	CALL(add_key, NOTHING, 0),
	CALL(keyctl, NOTHING, 0),
	CALL(syslog, NOTHING, 0),
	CALL(sethostname, NOTHING, 0),
	CALL(ioprio_set, NOTHING, 0),
	CALL(getcpu, NOTHING, 0),
	CALL(restart_syscall, NOTHING, 0),
	/* what some lack, or the C library that this is built with */
#ifdef SYS_open
	CALL(open, PATH, 0),
#endif
#ifdef SYS_creat
	CALL(creat, PATH, 0),
#endif
#ifdef SYS_stat
	CALL(stat, PATH, 0),
#endif
#ifdef SYS_lstat
	CALL(lstat, PATH, 0),
#endif
#ifdef SYS_access
	CALL(access, PATH, 0),
#endif
#ifdef SYS_readlink
	CALL(readlink, PATH, 0),
#endif
#ifdef SYS_unlink
	CALL(unlink, PATH, 0),
#endif
#ifdef SYS_mkdir
	CALL(mkdir, PATH, 0),
#endif
#ifdef SYS_rmdir
	CALL(rmdir, PATH, 0),
#endif
#ifdef SYS_rename
	CALL(rename, PATH, 0),
#endif
#ifdef SYS_link
	CALL(link, PATH, 0),
#endif
#ifdef SYS_symlink
	CALL(symlink, PATH, 0),
#endif
#ifdef SYS_chmod
	CALL(chmod, PATH, 0),
#endif
#ifdef SYS_chown
	CALL(chown, PATH, 0),
#endif
#ifdef SYS_lchown
	CALL(lchown, PATH, 0),
#endif
#ifdef SYS_utime
	CALL(utime, PATH, 0),
#endif
#ifdef SYS_utimes
	CALL(utimes, PATH, 0),
#endif
#ifdef SYS_stat64
	CALL(stat64, PATH, 0),
#endif
#ifdef SYS_lstat64
	CALL(lstat64, PATH, 0),
#endif
#ifdef SYS_statfs64
	CALL(statfs64, PATH, 0),
#endif
#ifdef SYS_truncate64
	CALL(truncate64, PATH, 0),
#endif
#ifdef SYS_mknod
	CALL(mknod, PATH, 0),
#endif
#ifdef SYS_setxattr
	CALL(setxattr, PATH, 0),
#endif
#ifdef SYS_getxattr
	CALL(getxattr, PATH, 0),
#endif
#ifdef SYS_lgetxattr
	CALL(lgetxattr, PATH, 0),
#endif
#ifdef SYS_uselib
	CALL(uselib, PATH, 0),
#endif
#ifdef SYS_openat2
	CALL(openat2, PATH, 1),
#endif
#ifdef SYS_newfstatat
	CALL(newfstatat, PATH, 1),
#endif
#ifdef SYS_fstatat64
	CALL(fstatat64, PATH, 1),
#endif
#ifdef SYS_faccessat2
	CALL(faccessat2, PATH, 1),
#endif
#ifdef SYS_renameat
	CALL(renameat, PATH, 1),
#endif
#ifdef SYS_utimensat
	CALL(utimensat, PATH, 1),
#endif
#ifdef SYS_utimensat_time64
	CALL(utimensat_time64, PATH, 1),
#endif
#ifdef SYS_futimesat
	CALL(futimesat, PATH, 1),
#endif
#ifdef SYS_fstat64
	CALL(fstat64, FILE, 0),
#endif
#ifdef SYS_getdents
	CALL(getdents, FILE, 0),
#endif
#ifdef SYS_fcntl64
	CALL(fcntl64, FILE, 0),
#endif
#ifdef SYS_ftruncate64
	CALL(ftruncate64, FILE, 0),
#endif
#ifdef SYS_sync_file_range
	CALL(sync_file_range, FILE, 0),
#endif
#ifdef SYS_sync_file_range2
	CALL(sync_file_range2, FILE, 0),
#endif
#ifdef SYS_sendfile64
	CALL(sendfile64, FILE, 0),
#endif
#ifdef SYS_fadvise64
	CALL(fadvise64, FILE, 0),
#endif
#ifdef SYS_arm_fadvise64_64
	CALL(arm_fadvise64_64, FILE, 0),
#endif
#ifdef SYS__llseek
	CALL(_llseek, FILE, 0),
#endif
#ifdef SYS_fstatfs64
	CALL(fstatfs64, FILE, 0),
#endif
#ifdef SYS_recv
	CALL(recv, FILE, 0),
#endif
#ifdef SYS_recvmmsg_time64
	CALL(recvmmsg_time64, FILE, 0),
#endif
#ifdef SYS_send
	CALL(send, FILE, 0),
#endif
#ifdef SYS_mq_timedreceive_time64
	CALL(mq_timedreceive_time64, FILE, 0),
#endif
#ifdef SYS_poll
	CALL(poll, POLLED, 0),
#endif
#ifdef SYS_ppoll_time64
	CALL(ppoll_time64, POLLED, 0),
#endif
#ifdef SYS_select
	CALL(select, SELECTED, 0),
#endif
#ifdef SYS__newselect
	CALL(_newselect, SELECTED, 0),
#endif
#ifdef SYS_pselect6_time64
	CALL(pselect6_time64, SELECTED, 0),
#endif
#ifdef SYS_epoll_wait
	CALL(epoll_wait, EPOLL, 0),
#endif
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, EPOLL, 0),
#endif
#ifdef SYS_close_range
	CALL(close_range, NOTHING, 0),
#endif
#ifdef SYS_mmap
	CALL(mmap, NOTHING, 0),
#endif
#ifdef SYS_mmap2
	CALL(mmap2, NOTHING, 0),
#endif
#ifdef SYS_sigreturn
	CALL(sigreturn, NOTHING, 0),
#endif
#ifdef SYS_rt_sigtimedwait_time64
	CALL(rt_sigtimedwait_time64, NOTHING, 0),
#endif
#ifdef SYS_pause
	CALL(pause, NOTHING, 0),
#endif
#ifdef SYS_alarm
	CALL(alarm, NOTHING, 0),
#endif
#ifdef SYS_dup2
	CALL(dup2, NOTHING, 0),
#endif
#ifdef SYS_pipe
	CALL(pipe, NOTHING, 0),
#endif
#ifdef SYS_eventfd
	CALL(eventfd, NOTHING, 0),
#endif
#ifdef SYS_clone3
	CALL(clone3, NOTHING, 0),
#endif
#ifdef SYS_fork
	CALL(fork, NOTHING, 0),
#endif
#ifdef SYS_vfork
	CALL(vfork, NOTHING, 0),
#endif
#ifdef SYS_futex_time64
	CALL(futex_time64, NOTHING, 0),
#endif
#ifdef SYS_futex_waitv
	CALL(futex_waitv, NOTHING, 0),
#endif
#ifdef SYS_clock_nanosleep_time64
	CALL(clock_nanosleep_time64, NOTHING, 0),
#endif
#ifdef SYS_clock_gettime64
	CALL(clock_gettime64, NOTHING, 0),
#endif
#ifdef SYS_time
	CALL(time, NOTHING, 0),
#endif
#ifdef SYS_epoll_create
	CALL(epoll_create, NOTHING, 0),
#endif
#ifdef SYS_io_uring_setup
	CALL(io_uring_setup, NOTHING, 0),
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, NOTHING, 0),
#endif
#ifdef SYS_arch_prctl
	CALL(arch_prctl, NOTHING, 0),
#endif
#ifdef SYS_rseq
	CALL(rseq, NOTHING, 0),
#endif
#ifdef SYS_getpgrp
	CALL(getpgrp, NOTHING, 0),
#endif
#ifdef SYS_getuid32
	CALL(getuid32, NOTHING, 0),
#endif
#ifdef SYS_geteuid32
	CALL(geteuid32, NOTHING, 0),
#endif
#ifdef SYS_getgid32
	CALL(getgid32, NOTHING, 0),
#endif
#ifdef SYS_getegid32
	CALL(getegid32, NOTHING, 0),
#endif
#ifdef SYS_getrlimit
	CALL(getrlimit, NOTHING, 0),
#endif
#ifdef SYS_ugetrlimit
	CALL(ugetrlimit, NOTHING, 0),
#endif
#ifdef SYS_setrlimit
	CALL(setrlimit, NOTHING, 0),
#endif
#ifdef SYS_landlock_restrict_self
	CALL(landlock_restrict_self, NOTHING, 0),
#endif
#ifdef SYS_get_mempolicy
	CALL(get_mempolicy, NOTHING, 0),
#endif
#ifdef SYS_set_mempolicy
	CALL(set_mempolicy, NOTHING, 0),
#endif
#ifdef SYS_mbind
	CALL(mbind, NOTHING, 0),
#endif
#ifdef SYS_move_pages
	CALL(move_pages, NOTHING, 0),
#endif
#ifdef SYS_pidfd_open
	CALL(pidfd_open, NOTHING, 0),
#endif
#ifdef SYS_pidfd_send_signal
	CALL(pidfd_send_signal, NOTHING, 0),
#endif
#ifdef SYS_cacheflush
	CALL(cacheflush, NOTHING, 0),
#endif
#ifdef SYS_set_tls
	CALL(set_tls, NOTHING, 0),
#endif
};

const struct call *call_of(uint64_t number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}
