// A program that waits where its stack goes on in a way that is special, which its
// argument names: behind a signal handler or on another stack.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone, noipa))

static volatile int sink;
static ucontext_t outside, inside;
static char room[65536];

ALONE static void wait_here(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;) // pause of musl has no tables
		__asm__ volatile("mov $34, %%eax\n\tsyscall" ::: "rax", "rcx", "r11", "memory");
}

ALONE static void handler(int sig)
{
	wait_here();
	sink += sig;
}

// It has no end, so that the next function is directly behind its code.
ALONE static void innocent(void)
{
	sink = 1;
	for (;;)
		if (sink)
			break;
	__builtin_unreachable();
}

// The signal interrupts its first instruction.
__attribute__((naked)) ALONE static void first(void) { __asm__("ud2"); }

ALONE static void without_tables(void (*f)(void));
__asm__(".text\n.type without_tables, @function\nwithout_tables:\n\tpush %rbx\n\tmov $1, %ebp\n\tcall *%rdi\n\tpop %rbx\n\tret\n.size without_tables, .-without_tables\n");

int main(int argc, char **argv)
{
	const char *what = argv[1];
	signal(SIGILL, handler);
	if (!strcmp(what, "first"))
		first();
	if (!strcmp(what, "plain"))
		wait_here();
	if (!strcmp(what, "tables"))
		without_tables(wait_here);
	if (!strcmp(what, "altstack")) {
		stack_t st = {.ss_sp = room, .ss_size = sizeof room};
		struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
		sigaltstack(&st, 0);
		sigaction(SIGUSR1, &sa, 0);
		raise(SIGUSR1);
	}
#ifndef MUSL
	if (!strcmp(what, "context")) {
		getcontext(&inside);
		inside.uc_stack.ss_sp = room;
		inside.uc_stack.ss_size = sizeof room;
		inside.uc_link = &outside;
		makecontext(&inside, wait_here, 0);
		swapcontext(&outside, &inside);
	}
#endif
	if (argc > 2)
		innocent();
	return sink;
}
