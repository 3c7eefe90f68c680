// Functions whose stack pointer compilers save and load: arrays of variable length, alloca,
// aligned arrays, jumps back. None switches stacks.
int use(char *, int); void (*fp)(void*);

int vla(int n, int m){ int s=0; for(int i=0;i<m;i++){ char a[n*i+1]; s+=use(a,n);{ char b[s&255]; s+=use(b,m);} if(s>100) continue; } return s; }
int all(int n){ char*a=__builtin_alloca(n); __builtin_memset(a,0,n); fp(a); return use(a,n); }
struct s { void *sp; char *q; };
int mix(struct s *x, int n){ char a[n]; x->q=a; x->sp=__builtin_frame_address(0); fp(x); { char b[n*2]; x->q=b; use(b,n); } return use(a,n);}
#ifdef __x86_64__
void *jb[5]; int bj(void){ if(__builtin_setjmp(jb)) return 1; return use(0,0);} void bl(void){ use(0,1); __builtin_longjmp(jb,1);}
#endif
int al(int n){ char a[64] __attribute__((aligned(64))); char b[n]; use(b,n); return use(a,64);}
