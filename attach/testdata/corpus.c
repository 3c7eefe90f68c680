// Executes pieces of machine code, each from a state that it is given, until they end
// with a signal, and keeps a hash of what has become of registers and memory: see package
// bare. It has no libc and no thread-local storage, which the pieces could change.
//
//	gcc -O2 -static -nostdlib -ffreestanding -fno-stack-protector -mgeneral-regs-only -o corpus corpus.c
//
// File descriptor 3 is the file with the pieces, 4 the memory that the tracer shares. It
// goes through all pieces from shared.first on for each byte that it reads.
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long word; // as wide as an address

enum { PAGE = 4096, CODE = 0x1000000, PADS = 0x2000, SLOT = 64, DATA = 0x10000000, DATA_SIZE = 0x2000, VECTOR = 0x4000 };

// shared is what package bare has as the same struct.
static struct shared {
	u64 count, first, current, whole, code_size, code_at, vector_size, pieces_max;
	u64 begin[16][48];
	struct { u64 signal, code, fault, regs[48]; } end; // of the piece whole - 1
	_Alignas(PAGE) u8 vector[VECTOR], end_vector[VECTOR];
	u8 data[DATA_SIZE], end_data[DATA_SIZE];
	struct { u64 hash; u32 signal, variant; } pieces[];
} *const s = (void *)0x7a000000; // where no two registers of a piece add up to

#define IDLE (~0ULL)

#if defined __x86_64__
enum { READ = 0, WRITE = 1, MMAP = 9, SIGACTION = 13, SIGRETURN = 15, EXIT = 60, ARCH_PRCTL = 158, SIGALTSTACK = 131 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}

// The alignment check, the nested task and the identification flag stay set in handlers.
__asm__(".globl entry, restore\n"
	"entry: pushq $2\n popfq\n jmp handler\n"
	"restore: mov $15, %eax\n syscall\n");
#define BREAK "int3"

enum { REGS = 25, SELECTORS = 18, BASES = 19, PC = 16 };
enum { SET_GS = 0x1001, SET_FS, GET_FS, GET_GS };

static word *mcontext(u8 *uc) { return (word *)(uc + 40); }
static u8 *vector(u8 *uc) { return (u8 *)mcontext(uc)[23]; }
static u64 fault(u8 *info) { return *(u64 *)(info + 16); }

static void get_regs(u8 *uc, u64 *regs)
{
	const word *m = mcontext(uc);
	for (int i = 0; i < 18; i++)
		regs[i] = m[i];
	regs[17] &= ~(1ULL << 16); // resume
	regs[SELECTORS] = m[18];
	call(ARCH_PRCTL, GET_FS, (long)&regs[BASES], 0, 0, 0, 0);
	call(ARCH_PRCTL, GET_GS, (long)&regs[BASES + 1], 0, 0, 0, 0);
	u16 v;
	__asm__ volatile("mov %%ds, %0" : "=r"(v)); regs[21] = v;
	__asm__ volatile("mov %%es, %0" : "=r"(v)); regs[22] = v;
	__asm__ volatile("mov %%fs, %0" : "=r"(v)); regs[23] = v;
	__asm__ volatile("mov %%gs, %0" : "=r"(v)); regs[24] = v;
}

static void set_regs(u8 *uc, const u64 *regs)
{
	word *m = mcontext(uc);
	for (int i = 0; i < 19; i++)
		m[i] = regs[i];
	u16 v = 0; // what the kernel starts programs with
	__asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%fs; mov %0, %%gs" : : "r"(v));
	call(ARCH_PRCTL, SET_FS, regs[BASES], 0, 0, 0, 0);
	call(ARCH_PRCTL, SET_GS, regs[BASES + 1], 0, 0, 0, 0);
}

#elif defined __i386__
enum { EXIT = 1, READ = 3, WRITE = 4, SIGACTION = 174, SIGALTSTACK = 186, MMAP = 192 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	struct { long n, a, f; } in = {n, a, f};
	__asm__ volatile("push %%ebp\n push %%ebx\n mov 4(%%eax), %%ebx\n mov 8(%%eax), %%ebp\n mov (%%eax), %%eax\n int $0x80\n pop %%ebx\n pop %%ebp"
		: "=a"(n) : "a"(&in), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return n;
}

__asm__(".globl entry, restore\n"
	"entry: pushl $2\n popfl\n jmp handler\n"
	"restore: mov $173, %eax\n int $0x80\n");
#define BREAK "int3"

enum { REGS = 16, PC = 14 };

static word *mcontext(u8 *uc) { return (word *)(uc + 20); }
static u8 *vector(u8 *uc) { return (u8 *)mcontext(uc)[19]; }
static u64 fault(u8 *info) { return *(u32 *)(info + 12); }

// The numbers of the trap and the error are left out.
static const u8 places[REGS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 18, 14, 16};

static void get_regs(u8 *uc, u64 *regs)
{
	for (int i = 0; i < REGS; i++)
		regs[i] = mcontext(uc)[places[i]];
	for (int i = 0; i < 4; i++)
		if (regs[i] < 4)
			regs[i] = 0; // as any interrupt leaves a null selector
	regs[15] &= ~(1ULL << 16); // resume
}

static void set_regs(u8 *uc, const u64 *regs)
{
	for (int i = 0; i < REGS; i++)
		mcontext(uc)[places[i]] = regs[i];
}

#elif defined __aarch64__
enum { READ = 63, WRITE = 64, EXIT = 93, SIGALTSTACK = 132, SIGACTION = 134, MMAP = 222 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
		x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}

__asm__(".globl entry, restore\n"
	"entry: b handler\n"
	"restore: mov x8, #139\n svc #0\n");
#define BREAK "brk #0"

enum { REGS = 35, PC = 32 };

static word *mcontext(u8 *uc) { return (word *)(uc + 176 + 8); } // behind the fault's address
static u64 fault(u8 *info) { return *(u64 *)(info + 16); }

static u8 *vector(u8 *uc) // struct fpsimd_context
{
	for (u32 *c = (u32 *)(uc + 176 + 288); c[0]; c = (u32 *)((u8 *)c + c[1]))
		if (c[0] == 0x46508001)
			return (u8 *)(c + 2);
	return 0;
}

static void get_regs(u8 *uc, u64 *regs)
{
	for (int i = 0; i < 34; i++)
		regs[i] = mcontext(uc)[i];
	regs[33] &= ~(1ULL << 21); // a software step was pending, as it may be after a fault
	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(regs[34]));
}

static void set_regs(u8 *uc, const u64 *regs)
{
	for (int i = 0; i < 34; i++)
		mcontext(uc)[i] = regs[i];
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(regs[34]));
}
#endif

#if defined __aarch64__
static u32 vector_size(u8 *v) { return 8 + 32 * 16; }
static void forget(u8 *v) {}
#else
enum { LEGACY = sizeof(word) == 4 ? 112 : 0 }; // the format of the 80387 before that of FXSAVE

static u32 vector_size(u8 *v)
{
	const u8 *software = v + LEGACY + 464;
	return LEGACY + (*(u32 *)software == 0x46505853 ? *(u32 *)(software + 16) : 512);
}

// forget clears what is no state that programs compute with: the place of the last x87
// instruction, and which parts are in use.
static void forget(u8 *v)
{
	if (LEGACY)
		__builtin_memset(v + 12, 0, 16);
	__builtin_memset(v + LEGACY + 6, 0, 18);
	__builtin_memset(v + LEGACY + 464, 0, vector_size(v) > LEGACY + 512 ? 56 : 48);
}
#endif

void *memset(void *to, int c, word n)
{
	for (u8 *p = to; n--; p++)
		*(volatile u8 *)p = c;
	return to;
}

static void copy(void *to, const void *from, u32 n)
{
	u64 *t = to;
	const u64 *f = from;
	for (u32 i = 0; i < n / 8; i++)
		t[i] = f[i];
}

static u64 hash(u64 h, const void *p, u32 n)
{
	const u64 prime = 0x9e3779b97f4a7c15, *w = p;
	u64 a = h, b = h + 1, c = h + 2, d = h + 3;
	u32 i = 0;
	for (; i + 4 <= n / 8; i += 4) {
		a = ((a ^ w[i]) * prime) ^ a >> 29;
		b = ((b ^ w[i + 1]) * prime) ^ b >> 29;
		c = ((c ^ w[i + 2]) * prime) ^ c >> 29;
		d = ((d ^ w[i + 3]) * prime) ^ d >> 29;
	}
	for (; i < n / 8; i++)
		a = ((a ^ w[i]) * prime) ^ a >> 29;
	return ((a * prime ^ b) * prime ^ c) * prime ^ d;
}

static u64 main_regs[48]; // of this program itself
static u8 main_vector[VECTOR], stack[0x10000];

__attribute__((used)) void handler(int sig, u8 *info, u8 *uc)
{
	u8 *v = vector(uc);
	u64 regs[48];
	u32 size = s->vector_size;

	get_regs(uc, regs);
	if (s->current == IDLE) { // the breakpoint of main
		s->vector_size = size = vector_size(v);
		copy(main_regs, regs, sizeof regs);
		copy(main_vector, v, size);
		if (s->count == 0) { // it only asks for the state
			copy(s->vector, v, size);
			copy(s->begin[0], regs, sizeof regs);
		}
		s->current = s->first;
	} else {
		u64 i = s->current++, code = 0, at = 0;
		if (sig != 5) {
			code = *(u32 *)(info + 8);
			at = fault(info);
#ifdef __aarch64__
			if (sig == 4)
				at = 0; // with a probe that is where the kernel has its copy of the instruction
#endif
		}
		forget(v);
		u64 h = hash(sig + (code << 32), regs, REGS * 8);
		h = hash(h ^ at, v, size);
		s->pieces[i].hash = hash(h, (void *)DATA, DATA_SIZE);
		s->pieces[i].signal = sig;
		if (s->whole == i + 1) {
			s->end.signal = sig;
			s->end.code = code;
			s->end.fault = at;
			copy(s->end.regs, regs, sizeof regs);
			copy(s->end_vector, v, size);
			copy(s->end_data, (void *)DATA, DATA_SIZE);
		}
	}
	if (s->current >= s->count) {
		s->current = IDLE;
#ifdef __aarch64__
		main_regs[PC] += 4;
#endif
		set_regs(uc, main_regs);
		copy(v, main_vector, size);
		return;
	}
	copy(regs, s->begin[s->pieces[s->current].variant], sizeof regs);
	regs[PC] = CODE + PADS + s->current * SLOT;
	copy(v, s->vector, size);
	copy((void *)DATA, s->data, DATA_SIZE);
	set_regs(uc, regs);
}

static void check(long result)
{
	if ((word)result > (word)-4096)
		call(EXIT, -result, 0, 0, 0, 0, 0);
}

void _start(void)
{
	extern u8 entry[], restore[];
	enum { SHARED = 1, PRIVATE = 2, FIXED = 0x10, ANONYMOUS = 0x20 };

	check(call(MMAP, (long)s, PAGE, 3, SHARED | FIXED, 4, 0));
	check(call(MMAP, (long)s, sizeof *s + s->pieces_max * sizeof s->pieces[0], 3, SHARED | FIXED, 4, 0));
	check(call(MMAP, CODE, s->code_size, 5, PRIVATE | FIXED, 3, sizeof(word) == 4 ? s->code_at / PAGE : s->code_at));
	check(call(MMAP, DATA, DATA_SIZE, 3, PRIVATE | FIXED | ANONYMOUS, -1, 0));
	struct { u8 *sp; u32 flags; word size; } alt = {stack, 0, sizeof stack};
	check(call(SIGALTSTACK, (long)&alt, 0, 0, 0, 0, 0));
	// handler, flags, restorer, mask: siginfo, on the other stack.
	word act[3 + 8 / sizeof(word)] = {(word)entry, 0x0c000004, (word)restore};
	for (int sig = 1; sig < 32; sig++)
		if (sig == 4 || sig == 5 || sig == 7 || sig == 8 || sig == 11 || sig == 31)
			check(call(SIGACTION, sig, (long)act, 0, 8, 0, 0));
	s->current = IDLE;
	for (u8 c = 0;;) {
		call(WRITE, 1, (long)&c, 1, 0, 0, 0);
		if (call(READ, 0, (long)&c, 1, 0, 0, 0) != 1)
			call(EXIT, 0, 0, 0, 0, 0, 0);
		__asm__ volatile(BREAK : : : "memory");
	}
}
