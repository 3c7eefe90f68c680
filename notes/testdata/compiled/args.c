/* Probes whose arguments take every form that a compiler has for an operand. */
#include <sys/sdt.h>

#if __SIZEOF_POINTER__ == 8
typedef __int128 wide;
#else
typedef long long wide;
#endif

struct s { int a, b, c; };
extern int ext;
extern struct s es;
static int loc[10];
int glob, arr[100];
__thread int tls;
struct s gs;
char *str = "abc";

extern long long get(int);
extern double getd(int);

int everything(int a, unsigned b, long c, char *p, double d, float e, int *q,
	       long i, wide w, long double ld, struct s *sp)
{
	STAP_PROBE12(p, n1, a, b, c, p[i], d, e, q[i], q[i + 5], ext, glob, loc[3], arr[i]);
	STAP_PROBE10(p, n2, w, ld, sp->b, -9, 9223372036854775807LL, 18446744073709551615ULL,
		     1.5, 0.0f, gs.b, es.c);
	STAP_PROBE8(p, n3, tls, "str", &glob, (short)a, (unsigned char)b, (_Bool)a, str, (short)i);
	STAP_PROBE4(p, n4, &ext, &es.b, everything, &arr[i]);
	return a;
}

/* Values of 8 bytes in registers: in pairs on 32-bit machines. */
int wides(int a, int b)
{
	long long x = get(1), y = get(2), z = get(3);
	double e = getd(a);
	STAP_PROBE5(p, n5, x, y, z, e, b);
	return x + y + z + e + b;
}

/* Arrays of every element size. */
void indexed(int *a, long i, unsigned char *b, long long *c, short *d, unsigned u)
{
	STAP_PROBE6(p, n6, a[i], b[i + 7], c[i - 1], d[u], c[u], a[(unsigned char)i]);
}
