// A library that passes addresses through its global offset table: of a
// variable that the program copies to itself, of one of its own and of a
// function of libc. gcc -O1 -shared -fPIC -o got.so got.c; the program is this
// file with -DMAIN, linked with got.so: gcc -DMAIN -no-pie -o got got.c got.so
#include <stdio.h>
#include <stdlib.h>

#ifdef MAIN
extern int copied;
void fire(void);

int main(void)
{
	char line[2];
	int *volatile place = &copied; // a relocation copies it into the program
	while (fgets(line, sizeof line, stdin)) {
		fire();
		printf("%lu %d\n", (unsigned long)place, *place);
		fflush(stdout);
	}
	return 0;
}
#else
#include <sys/sdt.h>

int copied = 7;

void fire(void)
{
	__asm__ volatile(STAP_PROBE_ASM(got, slots, 8@copied@GOTPCREL(%%rip) 8@getenv@GOTPCREL(%%rip)) : : );
	__asm__ volatile("" : : "r"(&copied), "r"(getenv)); // so that there are slots
}
#endif
