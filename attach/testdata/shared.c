// Sites that several notes have. gcc -O1 -o shared shared.c
#include <stdio.h>

volatile unsigned short first_semaphore __attribute__((section(".probes"))), second_semaphore __attribute__((section(".probes")));

#define NOTE(label, semaphore, name, args) \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n .4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte " label ", 0, " semaphore "\n" \
	".asciz \"shared\"\n .asciz \"" name "\"\n .asciz \"" args "\"\n" \
	"994: .balign 4\n.popsection\n"

static void __attribute__((noipa)) fire(long x) {
	__asm__ volatile(
		"990: nop\n" NOTE("990b", "0", "one", "8@%0") NOTE("990b", "0", "two", "8@%0") NOTE("990b", "0", "two", "8@%0")
		"990: nop\n" NOTE("990b", "0", "specs", "8@%0") NOTE("990b", "0", "specs", "-8@%0 8@%0")
		"990: nop\n" NOTE("990b", "first_semaphore", "sema", "8@%0") NOTE("990b", "second_semaphore", "semb", "8@%0")
		"990: nop\n" NOTE("990b", "first_semaphore", "semas", "8@%0") NOTE("990b", "second_semaphore", "semas", "8@%0") ::"r"(x));
}

int main(void) {
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		for (long i = 0; i < 5; i++)
			fire(i);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
