// Two coroutines call work, which goes on at the stack of main before it returns: by go_on,
// which is linked in, or else without leaving work. For each line of input it answers how
// often work did not return what it should. With -DLIBRARY, work alone.
#include <stdio.h>
#include <stdlib.h>

#ifndef NO_WORK
__attribute__((noinline)) int work(int which, int i, void (*leave)(int))
{
	leave(which);
	__asm__ volatile("");
	return which * 1000 + i;
}
#else
int work(int which, int i, void (*leave)(int));
#endif

#ifndef LIBRARY
void go_on(void **kept, void *to, void **to_in_memory);
static void *home, *stacks[2];
static long done, wrong;

static void leave(int which)
{
#ifdef SWITCHES
	go_on(&stacks[which], home, &home);
#endif
}

static void run(int which)
{
	for (int i = 0; i < 200; i++) {
		wrong += work(which, i, leave) != which * 1000 + i;
		done++;
	}
#ifdef SWITCHES
	for (;;)
		leave(which);
#endif
}

static void first(void) { run(0); }
static void second(void) { run(1); }

int main(void)
{
	char line[64];
	while (fgets(line, sizeof line, stdin)) {
		done = wrong = 0;
#ifdef SWITCHES
		for (int which = 0; which < 2; which++) {
			char *memory = aligned_alloc(16, 1 << 16);
			void **top = (void **)(memory + (1 << 16) - 64);
			*--top = 0;
			*--top = which ? second : first;
			for (int i = 0; i < 6; i++)
				*--top = 0;
			stacks[which] = top;
		}
		for (int i = 0; i < 404; i++)
			go_on(&home, stacks[i & 1], &stacks[i & 1]);
#else
		first();
		second();
#endif
		printf("done %ld wrong %ld\n", done, wrong);
		fflush(stdout);
	}
	return 0;
}
#endif
