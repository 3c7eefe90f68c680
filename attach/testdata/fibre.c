// A library with a switch of stacks, and a program whose function it is left by:
// gcc -O1 -shared -fPIC -DLIBRARY -o libfibre.so fibre.c; gcc -O1 -o fibre fibre.c -L. -lfibre
#ifdef LIBRARY
void *jump_fcontext(void *to) { return to; }
void fibre_yield(void) { jump_fcontext(0); }
#else
void fibre_yield(void);
__attribute__((noinline)) int handle(int n)
{
	fibre_yield();
	return n + 1;
}
int main(int argc, char **argv) { return handle(argc) == 0; }
#endif
