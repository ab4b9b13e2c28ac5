// Walks to a depth with frames of different kinds, notes what LLVM's libunwind finds there, and traps.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <stdint.h>
static uintptr_t calls[256]; static int count;
static uintptr_t top;
static _Unwind_Reason_Code one(struct _Unwind_Context *c, void *x){ (void)x; if(count<256) calls[count++]=_Unwind_GetIP(c); return _URC_NO_REASON; }
static void trapped(int s, siginfo_t *i, void *v){
  (void)s;(void)i; ucontext_t *u=v; uintptr_t sp=0; 
#if defined(__riscv)
  for(int k=0;k<32;k++) printf("register %d %lx\n",k,(unsigned long)u->uc_mcontext.__gregs[k]); sp=u->uc_mcontext.__gregs[2];
#elif defined(__aarch64__)
  for(int k=0;k<31;k++) printf("register %d %lx\n",k,(unsigned long)u->uc_mcontext.regs[k]); printf("register 31 %lx\nregister 32 %lx\n",(unsigned long)u->uc_mcontext.sp,(unsigned long)u->uc_mcontext.pc); sp=u->uc_mcontext.sp;
#elif defined(__arm__)
  unsigned long *r=&u->uc_mcontext.arm_r0; for(int k=0;k<16;k++) printf("register %d %lx\n",k,r[k]); sp=u->uc_mcontext.arm_sp;
#endif
  for(int k=0;k<count;k++) printf("call %lx\n",(unsigned long)calls[k]);
  printf("stack %lx\n",(unsigned long)sp);
  fflush(stdout);
  FILE *f=fopen("stack.bin","wb"); size_t n=top-sp; fwrite((void*)sp,1,n,f); fclose(f);
  _exit(0);
}
__attribute__((noinline)) static int bottom(int a){ volatile char room[40]; memset((char*)room,a,sizeof room); _Unwind_Backtrace(one,0); __builtin_trap(); return room[3]; }
__attribute__((noinline)) static int variable(int a){ volatile char room[a+9]; room[a]=a; int r=bottom(a+room[a]); return r+room[0]; }
__attribute__((noinline)) static int compare(const void*x,const void*y){ static int n; if(++n==5) return variable(*(int*)x&7); return *(int*)x-*(int*)y; }
__attribute__((noinline)) static int sorted(int a){ int n[16]; for(int i=0;i<16;i++) n[i]=(i*7+a)%16; qsort(n,16,sizeof *n,compare); return n[3]; }
__attribute__((noinline)) static double many(double a,int b){ volatile double k=a*b; double r=sorted(b)+k; return r*a; }
__attribute__((noinline)) static int deeper(int n){ if(!n) return (int)many(2.5,n+3); volatile int k=n; int r=deeper(n-1); return r+k; }
int main(void){ char here; top=((uintptr_t)&here&~(uintptr_t)15)+64; struct sigaction s={.sa_sigaction=trapped,.sa_flags=SA_SIGINFO|SA_ONSTACK}; static char alt[65536]; stack_t st={.ss_sp=alt,.ss_size=sizeof alt}; sigaltstack(&st,0); sigaction(SIGILL,&s,0); sigaction(SIGTRAP,&s,0); return deeper(6); }
