// Functions that begin with vector instructions which the kernel takes for jumps, calls
// and nops; the program checks what they return, for each line that it reads.
#include <stdio.h>
#include <string.h>
#include <immintrin.h>

#define FUNCTION(name, body) \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" body "\n ret\n.size " #name ",.-" #name "\n")

FUNCTION(vx_7e, "vmovd %xmm0,%eax");
FUNCTION(vx_7f, "vmovdqu %xmm0,(%rdi)");
FUNCTION(vx_70, "vpshufd $0x44,%xmm0,%xmm0\n vmovd %xmm0,%eax");
FUNCTION(vx_e8, "vpsubsb %xmm1,%xmm0,%xmm0\n vmovd %xmm0,%eax");
FUNCTION(vx_eb, "vpor %xmm1,%xmm0,%xmm0\n vmovd %xmm0,%eax");
FUNCTION(vx_74, "vpcmpeqb %xmm0,%xmm0,%xmm0\n vmovd %xmm0,%eax");
FUNCTION(vx_90, "vpgatherdd %xmm2,(%rdi,%xmm0,4),%xmm1\n vmovd %xmm1,%eax");
FUNCTION(vx_57, "vxorps %xmm0,%xmm0,%xmm0\n vmovd %xmm0,%eax");
extern int vx_7e(__m128i), vx_70(__m128i), vx_e8(__m128i, __m128i), vx_eb(__m128i, __m128i), vx_74(__m128i), vx_57(__m128i);
extern int vx_90(int *, __m128i, __m128i, __m128i);
extern void vx_7f(void *, __m128i);

int main(void)
{
	for (int c; (c = getchar()) != EOF;) {
		int table[4] = {11, 22, 33, 44}, wrong = 0;
		for (int i = 1; i <= 3; i++) {
			__m128i x = _mm_set1_epi32(0x1000 + i), copy;
			wrong += vx_7e(x) != 0x1000 + i;
			vx_7f(&copy, x);
			wrong += memcmp(&copy, &x, sizeof x) != 0;
			wrong += vx_70(x) != 0x1000 + i;
			wrong += vx_e8(_mm_set1_epi8(9), _mm_set1_epi8(4)) != 0x05050505;
			wrong += vx_eb(x, _mm_set1_epi32(0x800000)) != 0x801000 + i;
			wrong += vx_74(x) != -1;
			wrong += vx_90(table, _mm_set1_epi32(2), _mm_setzero_si128(), _mm_set1_epi32(-1)) != 33;
			wrong += vx_57(x) != 0;
		}
		printf("%d\n", wrong);
		fflush(stdout);
	}
}
