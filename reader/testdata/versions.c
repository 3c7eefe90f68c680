// One name for two functions, as libraries have for programs of long ago.
int f_old(int x) { return x + 1; }
int f_new(int x) { return x * 3 + x / 7; }
__asm__(".symver f_old, f@V1");
__asm__(".symver f_new, f@@V2");
int plain(void) { return 5; }
