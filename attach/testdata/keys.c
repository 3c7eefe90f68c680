// Arguments that cannot be read, on x86-64. gcc -O1 -o keys keys.c
#include <sys/sdt.h>
#include <stdio.h>

// Not a probe's own operand: the compiler would read it itself.
#define MEMORY(address, n) \
	__asm__ volatile("990: nop\n" \
		".pushsection .note.stapsdt,\"?\",\"note\"\n" \
		".balign 4\n .4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n" \
		"993: .8byte 990b, _.stapsdt.base, 0\n" \
		".asciz \"keys\"\n .asciz \"memory\"\n .asciz \"-4@(%%rdi) 8@%%rsi\"\n" \
		"994: .balign 4\n.popsection" :: "D"(address), "S"(n))

#define VECTOR(name, operand) \
	__asm__ volatile("990: nop\n" \
		".pushsection .note.stapsdt,\"?\",\"note\"\n" \
		".balign 4\n .4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n" \
		"993: .8byte 990b, _.stapsdt.base, 0\n" \
		".asciz \"keys\"\n .asciz \"" name "\"\n .asciz \"" operand "\"\n" \
		"994: .balign 4\n.popsection" :: "D"(5l))

int main(void) {
	char line[16];
	char *volatile texts[] = {"here", 0, (char *)8};
	volatile long lengths[] = {3, 3, -1};
	while (fgets(line, sizeof line, stdin)) {
		for (int i = 0; i < 3; i++) {
			char *text = texts[i];
			DTRACE_PROBE2(keys, text, text, lengths[i]);
		}
		static int number = -7;
		MEMORY(&number, 1l);
		MEMORY((int *)8, 2l);
		VECTOR("vec1", "8@%%xmm0");
		VECTOR("vec2", "8@%%rdi");
		puts("done");
		fflush(stdout);
	}
	return 0;
}
