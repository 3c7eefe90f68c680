/* Two restartable sequences, described as librseq and tcmalloc do, and functions of an
   instruction each around and in them. */

#if defined(__x86_64__)
#define MOVE "mov %rax,%rax\n"
#else
#define MOVE "mov x0,x0\n"
#endif
#define FUNCTION(name, instruction) ".globl " #name "\n.type " #name ",%function\n" #name ": " instruction ".size " #name ",.-" #name "\n"
#define DESCRIBED(label) \
	".pushsection __rseq_cs,\"aw\"\n.balign 32\n.long 0,0\n.quad " #label "_start," #label "_end-" #label "_start," #label "_abort\n.popsection\n"

__asm__(
	".text\n"
	DESCRIBED(second) DESCRIBED(first)
	FUNCTION(before, MOVE)
	"first_start:\n"
	FUNCTION(begins, MOVE) FUNCTION(inside, MOVE) FUNCTION(nop, "nop\n") FUNCTION(commits, MOVE)
	"first_end:\n"
	FUNCTION(behind, MOVE)
	".long 0x53053053\n"
	"first_abort:\n"
	FUNCTION(aborts, MOVE)
	"second_start:\n"
	FUNCTION(again, MOVE)
	"second_end:\n"
	".long 0x53053053\n"
	"second_abort:\n"
	FUNCTION(last, MOVE)
);

int main(void) { return 0; }
