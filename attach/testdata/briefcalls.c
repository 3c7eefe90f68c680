// A shared object whose function calls another one.
volatile int deeper;

__attribute__((noinline)) int calls(int (*f)(int), int i) { return f(i) + deeper; }
