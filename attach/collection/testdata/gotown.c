// A program that passes the address of its own variable through its global
// offset table. gcc -O1 -fPIE -pie -o gotown gotown.c
#include <sys/sdt.h>
#include <stdio.h>

int own = 7;

int main(void)
{
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		__asm__ volatile(STAP_PROBE_ASM(gotown, slot, 8@own@GOTPCREL(%%rip)) : : );
		// An instruction for which linkers keep the slot.
		__asm__ volatile("pushq own@GOTPCREL(%%rip)\n\tpopq %%rax" : : : "rax", "memory");
		printf("%lu\n", (unsigned long)&own);
		fflush(stdout);
	}
	return 0;
}
