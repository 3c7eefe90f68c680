// libc.c calls functions of libc and prints what they answer, which is the same in each run.
#define _GNU_SOURCE
#include <argz.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <iconv.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <monetary.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>
#include <wctype.h>
#include <wordexp.h>

extern char **environ;

static uint64_t sum = 1;

static void add(const void *p, size_t n)
{
	for (const unsigned char *c = p; n > 0; c++, n--)
		sum = (sum ^ *c) * 0x100000001b3;
}

static void num(long n) { add(&n, sizeof n); }

// place adds where p leads to in s.
static void place(const void *p, const void *s) { num(p ? (const char *)p - (const char *)s : -1); }

static int sign(int n) { return (n > 0) - (n < 0); }

static void strings(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 95, 127, 128, 129, 200, 255, 256, 257, 511, 513, 1000, 2049, 4097, 9000, 70000};
	static char a[80000], b[80000], c[80000];
	static const size_t shifts[] = {0, 1, 15, 33, 4090};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t j = 0; j < sizeof shifts / sizeof *shifts; j++) {
			size_t n = sizes[i];
			char *s = a + shifts[j], *d = b + shifts[(j + i) % 5];
			memset(a, '.', sizeof a);
			for (size_t k = 0; k < n; k++)
				s[k] = 'a' + k * 7 % 23;
			s[n] = 0;
			memset(b, 0xee, sizeof b);
			num(memcpy(d, s, n + 1) == d), num(memcmp(d, s, n + 1)), num(strlen(d)), num(strcmp(d, s)), add(b, n + 5100);
			num(strnlen(s, 100)), place(strchr(s, 'v'), s), place(strrchr(s, 'v'), s), place(memchr(s, 'v', n), s), place(memrchr(s, 'v', n), s);
			place(rawmemchr(s, 0), s), place(strchrnul(s, 'w'), s), place(strstr(s, "fmt"), s), place(strcasestr(s, "FMT"), s), place(memmem(s, n, "fmta", 4), s);
			num(strspn(s, "abcdefhijklmnopt")), num(strcspn(s, "wv")), place(strpbrk(s, "uvw"), s);
			memmove(d + 3, d, n), add(b, n + 5100), memmove(d, d + 5, n), add(b, n + 5100);
			memset(d, 'x', n), add(b, n + 5100), num(memcpy(mempcpy(c, s, n), "!", 2) == c + n), add(c, n + 2);
			place(stpcpy(c, s), c), place(stpncpy(c, s, n + 9), c), strcpy(c, s), strncpy(c, s, n / 2 + 40), strcat(c, "end"), strncat(c, s, n / 3), add(c, n + 40);
			d[n / 2] = 'Z', num(sign(strcmp(c, d))), num(sign(strncmp(s, c, n / 2 + 1))), num(sign(strcasecmp(s, c))), num(sign(strncasecmp(s, c, n))), num(sign(memcmp(s, c, n)));
			place(memccpy(c, s, 'q', n), c), swab(s, c, n & ~1UL), add(c, n), explicit_bzero(c, n / 2), bcopy(s, c + 1, n / 2), num(bcmp(s, c, n / 2)), bzero(c, n / 4), add(c, n);
			num(strverscmp("a9", "a10") < 0), memfrob(c, n), add(c, n), strfry(strcpy(c, ""));
		}
	char text[] = "one,two;;three", *rest = text, *save;
	for (char *p; (p = strsep(&rest, ",;"));)
		add(p, strlen(p));
	char again[] = "  four five\tsix ";
	for (char *p = strtok_r(again, " \t", &save); p; p = strtok_r(NULL, " \t", &save))
		add(p, strlen(p));
	char *dup = strdup("copy"), *part = strndup("partial", 4);
	printf("%s %s %s %s %s %s\n", dup, part, basename("/a/b"), strerror(ENOENT), strsignal(SIGSEGV), strerrorname_np(EPERM));
	free(dup), free(part);
	char *argz = NULL;
	size_t len = 0;
	argz_create_sep("a:bc:def", ':', &argz, &len), argz_add(&argz, &len, "gh"), argz_stringify(argz, len, '+');
	printf("%s %zu\n", argz, len), free(argz);
	static wchar_t w[2000], v[2000];
	for (size_t n = 0; n < 900; n = n * 3 / 2 + 1) {
		for (size_t k = 0; k < n; k++)
			w[k] = 0x100 + k * 5 % 300;
		w[n] = 0;
		num(wcslen(w)), num(wcsnlen(w, 70)), wcscpy(v, w), num(wcscmp(v, w)), num(wmemcmp(v, w, n)), place(wcschr(w, 0x150), w), place(wcsrchr(w, 0x150), w), place(wmemchr(w, 0x151, n), w);
		wcscat(v, L"end"), wcsncpy(v + n, w, n / 2), wmemset(v, L'x', n / 3), wmemcpy(v + 1, w, n / 4), wmemmove(v, v + 1, n / 2), add(v, (n + 3) * 4), num(sign(wcsncmp(v, w, n)));
		num(wcsspn(w, L"\x100\x105\x10a")), num(wcscspn(w, L"\x110")), place(wcsstr(w, L"\x105\x10a"), w), place(wcspbrk(w, L"\x10f"), w), num(sign(wcscasecmp(v, w)));
	}
}

static int ascending(const void *a, const void *b) { return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b); }
static int reversed(const void *a, const void *b, void *sign) { return *(int *)sign * ascending(a, b); }
static int names(const void *a, const void *b) { return strcmp(a, b); }
static void ignore(void *p) { (void)p; }
static void visit(const void *node, VISIT order, int depth) { if (order == postorder || order == leaf) { add(*(char **)node, 3); num(depth); } }

static void sorting(void)
{
	static int a[5000];
	srand(42), srandom(43), srand48(44);
	for (int i = 0; i < 5000; i++)
		a[i] = rand() ^ (int)random() ^ (int)lrand48();
	qsort(a, 5000, sizeof *a, ascending), add(a, sizeof a);
	int key = a[1234], up = -1;
	place(bsearch(&key, a, 5000, sizeof *a, ascending), a);
	qsort_r(a, 5000, sizeof *a, reversed, &up), add(a, sizeof a);
	qsort(a, 500, 40, ascending), add(a, sizeof a);
	num(lrand48()), num(mrand48()), num(drand48() * 1e9), num(erand48((unsigned short[]){1, 2, 3}) * 1e9), num(rand_r(&(unsigned){7}));
	char state[128];
	num(initstate(5, state, sizeof state) != NULL), num(random()), num(setstate(state) != NULL), num(random());
	void *tree = NULL;
	for (const char *s = "abracadabra-simsalabim"; s[3]; s++)
		num(*(const char **)tsearch(s, &tree, names) == s);
	twalk(tree, visit), num(tfind("sims", &tree, names) != NULL), num(tdelete("abracadabra-simsalabim", &tree, names) != NULL), tdestroy(tree, ignore);
	hcreate(100);
	hsearch((ENTRY){"key", "value"}, ENTER);
	printf("%s\n", (char *)hsearch((ENTRY){"key", NULL}, FIND)->data), hdestroy();
	size_t n = 3;
	int few[5] = {9, 5, 7};
	lsearch(&(int){4}, few, &n, sizeof *few, ascending), num(n), place(lfind(&(int){7}, few, &n, sizeof *few, ascending), few);
}

static void numbers(void)
{
	char *end;
	printf("%ld %lu %lld %" PRIdMAX " %d %ld\n", strtol("-0x7fz", &end, 0), strtoul("777", &end, 8), strtoll("zz", &end, 36), strtoimax("12", NULL, 10), atoi(" 42"), atol("-7"));
	printf("%a %a %La %g %g\n", strtod("3.14159e-5x", &end), strtof("0x1.8p3", &end), strtold("1e4000", &end), strtod("nan(7)", &end), atof("1e-320"));
	static const double d[] = {0, 1, -1.5, 3.14159265358979, 1e100, 1e-100, 5e-324, 0.1, 123456789.125, 1.0 / 0, -0.0};
	for (int i = 0; i < 11; i++) {
		printf("%e|%.3f|%g|%a|%20.10E|%-12G|%+.0f|%Lg|%#.3g\n", d[i], d[i], d[i], d[i], d[i], d[i], d[i], (long double)d[i] / 3, d[i]);
		char buf[64];
		printf("%s %s\n", gcvt(d[i], 10, buf), (strfromd(buf, 60, "%.7g", d[i]), buf));
	}
	printf("%d|%5d|%-5d|%05d|%+d|% d|%x|%#X|%o|%#o|%lu|%lld|%hhd|%hd|%zd|%jd|%td|%c|%s|%10.3s|%-10s|%%|%p|%ls|%lc|%'d\n", 1, 2, 3, 4, 5, 6, 0x7f, 0xab, 8, 9, 10UL, -11LL, 300, 70000, (size_t)12, (intmax_t)13, (ptrdiff_t)14, 'c', "str", "precision", "left", (void *)0x1234, L"wide", L'w', 1234567);
	int a = 0, b = 0, n = 0; char s[20], set[20]; float f = 0; double g = 0; void *p = NULL; long l = 0; char *m = NULL;
	n = sscanf("12 0x1f word abc123 1.5 2.5e3 0x10 777 alloc", "%d %i %19s %19[a-c] %*d %f %lf %p %lo %ms", &a, &b, s, set, &f, &g, &p, &l, &m);
	printf("%d: %d %d %s %s %g %g %p %ld %s\n", n, a, b, s, set, f, g, p, l, m), free(m);
	printf("%s %ld %d %d %d %ld\n", l64a(123456), a64l("DHw/"), ffs(80), ffsll(1LL << 40), abs(-3), labs(-4));
	div_t q = div(17, 5); ldiv_t lq = ldiv(-17, 5);
	printf("%d %d %ld %ld\n", q.quot, q.rem, lq.quot, lq.rem);
	printf("%ls %ld %a %lc %d\n", wcsdup(L"dup"), wcstol(L"99z", NULL, 10), wcstod(L"2.5", NULL), towupper(L'ß' + 1), iswalpha(L'é') != 0);
	wchar_t w[100];
	swprintf(w, 100, L"%d %s %ls %g", 7, "narrow", L"wide", 1.5), printf("%ls\n", w);
	num(swscanf(w, L"%d", &a)), num(a);
	for (int c = -1; c < 256; c++)
		num(!!isalpha(c) | !!isdigit(c) << 1 | !!isspace(c) << 2 | !!isupper(c) << 3 | !!ispunct(c) << 4 | !!isxdigit(c) << 5 | !!iscntrl(c) << 6 | tolower(c) << 8 | toupper(c) << 16);
}

static void streams(void)
{
	char *text = NULL, line[100]; size_t size = 0;
	FILE *m = open_memstream(&text, &size);
	fprintf(m, "first %d\n", 1), fputs("second\n", m), fputc('t', m), putc('h', m), fwrite("ird\nlast", 1, 8, m), fclose(m);
	FILE *r = fmemopen(text, size, "r");
	char *got = NULL; size_t cap = 0; ssize_t n;
	while ((n = getline(&got, &cap, r)) > 0)
		printf("%zd %s", n, got);
	printf("\n%d %d %ld\n", feof(r), ferror(r), ftell(r)), rewind(r);
	num(fgetc(r)), num(ungetc('Q', r)), num(getc(r)), fseek(r, 6, SEEK_SET), num(fscanf(r, "%d", &(int){0})), printf("%s", fgets(line, 100, r) ? line : "none"), fclose(r), free(got);
	FILE *t = tmpfile();
	setvbuf(t, NULL, _IOFBF, 512);
	for (int i = 0; i < 3000; i++)
		fprintf(t, "%d,%s\n", i * i, i % 2 ? "odd" : "even");
	fflush(t), fseeko(t, -40, SEEK_END), n = fread(line, 1, 39, t), line[n] = 0, printf("%s", line);
	fpos_t pos; fgetpos(t, &pos), rewind(t), fsetpos(t, &pos), num(ftello(t));
	struct stat st; fstat(fileno(t), &st), num(st.st_size);
	pread(fileno(t), line, 50, 100), add(line, 50), ftruncate(fileno(t), 10), fclose(t);
	FILE *w = fopen("random.txt", "w+"); fputws(L"wide: äöü€\n", w), fwprintf(w, L"%d %ls\n", 5, L"x"), rewind(w);
	wchar_t wide[100]; printf("%ls", fgetws(wide, 100, w)), num(getwc(w)), num(ungetwc(L'z', w)), num(fgetwc(w)), num(fwide(w, 0)), fclose(w), freopen("random.txt", "r", stdin), num(getchar()), num(scanf("%99s", line)), puts(line);
	mkdir("random.d", 0700), rename("random.txt", "random.d/a"), symlink("a", "random.d/b"), link("random.d/a", "random.d/c"), num(readlink("random.d/b", line, 99)), add(line, 1);
	glob_t g; glob("random.d/[a-c]", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++)
		puts(g.gl_pathv[i]);
	globfree(&g);
	struct dirent **list; n = scandir("random.d", &list, NULL, alphasort);
	for (int i = 0; i < n; i++)
		printf("%s ", list[i]->d_name), free(list[i]);
	free(list), printf("%d\n", access("random.d/a", R_OK)), unlink("random.d/a"), unlink("random.d/b"), remove("random.d/c"), rmdir("random.d"), free(text);
	char name[] = "randomXXXXXX"; int fd = mkstemp(name);
	dprintf(fd, "to %d", 3), lseek(fd, 0, SEEK_SET), num(read(fd, line, 99)), add(line, 4), close(fd), unlink(name);
}

static void texts(void)
{
	static const char *patterns[] = {"^a(b|c)*d$", "[[:alpha:]]+([0-9]{2,3})", "(x+)(y+)\\1", "\\bword\\b", ".*", "a{3}|b{2}", "[^a-m]+$"}, *against[] = {"abcbd", "foo123bar", "xxyyxx", "a word here", "", "zaaabb", "xyz"};
	for (int i = 0; i < 7; i++)
		for (int f = 0; f < 2; f++) {
			regex_t re; regmatch_t m[4]; char msg[80];
			int e = regcomp(&re, patterns[i], REG_EXTENDED | (f ? REG_ICASE : 0));
			if (e) { regerror(e, &re, msg, sizeof msg), puts(msg); continue; }
			for (int j = 0; j < 7; j++)
				if (num(e = regexec(&re, against[j], 4, m, 0)), !e)
					for (int k = 0; k < 4; k++)
						num(m[k].rm_so), num(m[k].rm_eo);
			regfree(&re);
		}
	num(fnmatch("*.[ch]", "file.c", 0)), num(fnmatch("a/*/b?", "a/x/y/bc", FNM_PATHNAME)), num(fnmatch("+(ab|c)d", "ababcd", FNM_EXTMATCH));
	wordexp_t we; setenv("WORD", "two words", 1), wordexp("$WORD \"$WORD\" ${NONE:-else} $((3*4)) 'q'", &we, 0);
	for (size_t i = 0; i < we.we_wordc; i++)
		printf("[%s]", we.we_wordv[i]);
	wordfree(&we), printf(" %s %d\n", getenv("WORD"), unsetenv("WORD")), putenv("PUT=1"), puts(secure_getenv("PUT"));
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), tzset();
	char buf[200]; struct tm tm;
	for (long t = -2000000000; t < 4000000000; t += 345678901) {
		time_t at = t;
		gmtime_r(&at, &tm), strftime(buf, 200, "%F %T %a %b %j %U %V %s %y %C", &tm), puts(buf), num(timegm(&tm));
		localtime_r(&at, &tm), printf("%s", asctime_r(&tm, buf)), num(mktime(&tm)), printf("%s", ctime_r(&at, buf));
	}
	printf("%s\n", strptime("2024-02-29 12:34:56 Thu", "%Y-%m-%d %H:%M:%S %a", &tm)), num(tm.tm_yday), num(difftime(5, 3));
	printf("%s %s %s\n", setlocale(LC_ALL, "C.UTF-8"), nl_langinfo(CODESET), localeconv()->decimal_point);
	iconv_t cd = iconv_open("UTF-16LE", "UTF-8"); char *in = "h\xc3\xa9llo \xe2\x82\xac", *out = buf; size_t i = 10, o = 200;
	num(iconv(cd, &in, &i, &out, &o)), add(buf, 200 - o), iconv_close(cd);
	wchar_t w[50]; char back[50]; num(mbstowcs(w, "gr\xc3\xbc\xc3\x9f""e", 50)), num(wcstombs(back, w, 50)), puts(back), num(mblen("\xc3\xbc", 4)), num(wcswidth(w, 5)), num(sign(wcscoll(w, L"gr"))), num(sign(strcoll("a", "b"))), num(strxfrm(buf, "text", 50));
	mbstate_t ms = {0}; const char *src = "\xc3\xbc""bc"; num(mbsrtowcs(w, &src, 10, &ms)), num(mbrtowc(w, "\xe2\x82\xac", 3, &ms)), num(w[0]), num(wcrtomb(back, w[0], &ms)), num(btowc('a')), num(wctob(L'b')), num(iswctype(L'a', wctype("alpha"))), num(towctrans(L'a', wctrans("toupper")));
	locale_t loc = newlocale(LC_ALL_MASK, "C", 0); num(toupper_l('a', loc)), num(strcasecmp_l("A", "a", loc)), uselocale(loc), uselocale(LC_GLOBAL_LOCALE), freelocale(loc);
	strfmon(buf, 100, "%n", 12.34), puts(buf);
	char *argv[] = {"prog", "-a", "--long=7", "-bval", "rest", NULL}; struct option opts[] = {{"long", 1, NULL, 'l'}, {0}};
	for (int c; (c = getopt_long(5, argv, "ab:", opts, NULL)) != -1;)
		printf("%c %s\n", c, optarg ? optarg : "-");
	char *sub = "ro,size=5", *value, *tokens[] = {"ro", "size", NULL}; char subs[20]; strcpy(subs, sub), sub = subs;
	while (*sub)
		num(getsubopt(&sub, tokens, &value));
}

static sigjmp_buf env;
static volatile int signals;
static void handler(int s) { signals += s; if (s == SIGUSR2) siglongjmp(env, 7); }
static void informed(int s, siginfo_t *i, void *c) { (void)c; signals += 100 * s + i->si_value.sival_int; }
static int compareJump(const void *a, const void *b) { if (*(int *)a == 50) siglongjmp(env, 9); return ascending(a, b); }

static ucontext_t mainContext, context;
static int yielded;
static void coroutine(int n) { for (int i = 0; i < n; i++) { yielded = i * i; swapcontext(&context, &mainContext); } yielded = -1; }

static void jumps(void)
{
	struct sigaction sa = {.sa_handler = handler}; sigemptyset(&sa.sa_mask), sigaddset(&sa.sa_mask, SIGHUP), sigaction(SIGUSR1, &sa, NULL), signal(SIGUSR2, handler);
	raise(SIGUSR1), kill(getpid(), SIGUSR1), printf("%d\n", signals);
	int j = sigsetjmp(env, 1); if (!j) raise(SIGUSR2);
	printf("jumped %d %d\n", j, signals);
	int a[100]; for (int i = 0; i < 100; i++) a[i] = i * 37 % 101;
	if (!(j = sigsetjmp(env, 1))) qsort(a, 100, sizeof *a, compareJump);
	printf("jumped %d\n", j);
	jmp_buf plain; volatile int turns = 0; if (setjmp(plain) < 5) { turns++; longjmp(plain, turns); }
	printf("%d turns\n", turns);
	sa.sa_sigaction = informed, sa.sa_flags = SA_SIGINFO | SA_ONSTACK; static char stack[65536]; stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack}; sigaltstack(&ss, NULL), sigaction(SIGRTMIN, &sa, NULL);
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 5}), printf("%d\n", signals);
	sigset_t set, old; sigemptyset(&set), sigaddset(&set, SIGUSR1), sigprocmask(SIG_BLOCK, &set, &old), raise(SIGUSR1); int got; num(sigwait(&set, &got)), num(got), num(sigpending(&set)), sigprocmask(SIG_SETMASK, &old, NULL);
	static char other[65536]; getcontext(&context), context.uc_stack.ss_sp = other, context.uc_stack.ss_size = sizeof other, context.uc_link = &mainContext, makecontext(&context, (void (*)(void))coroutine, 1, 5);
	do swapcontext(&mainContext, &context), printf("%d ", yielded); while (yielded >= 0);
	puts("");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t cond = PTHREAD_COND_INITIALIZER; static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier; static pthread_once_t once = PTHREAD_ONCE_INIT; static pthread_key_t tls; static sem_t sem; static long total, onces, ends; static __thread int own;
static void first(void) { onces++; }
static void destroy(void *p) { __atomic_add_fetch(&ends, (long)p, __ATOMIC_SEQ_CST); }
static void *worker(void *arg)
{
	pthread_once(&once, first), pthread_setspecific(tls, arg), pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++) { pthread_mutex_lock(&mutex), total += (long)arg, own++, pthread_mutex_unlock(&mutex), pthread_rwlock_rdlock(&rw), pthread_rwlock_unlock(&rw), free(malloc(i * 50)); if (i % 50 == 0) sched_yield(); }
	sem_post(&sem), pthread_mutex_lock(&mutex), pthread_cond_signal(&cond), pthread_mutex_unlock(&mutex);
	return (void *)((long)pthread_getspecific(tls) * own);
}
static void cleaned(void *p) { *(int *)p = 77; }
static void *cancelled(void *p) { pthread_cleanup_push(cleaned, p); for (;;) pause(); pthread_cleanup_pop(0); return NULL; }
static void *leaves(void *p) { pthread_cleanup_push(cleaned, p); pthread_exit((void *)5); pthread_cleanup_pop(0); return NULL; }

static void threads(void)
{
	pthread_t t[4]; long r = 0; pthread_attr_t attr; pthread_attr_init(&attr), pthread_attr_setstacksize(&attr, 1 << 18), sem_init(&sem, 0, 0), pthread_key_create(&tls, destroy), pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 4; i++) pthread_create(t + i, &attr, worker, (void *)(i + 1));
	for (int i = 0; i < 4; i++) { void *v; sem_wait(&sem), pthread_join(t[i], &v), r += (long)v; }
	printf("%ld %ld %ld %ld\n", total, r, onces, ends);
	int flag = 0, out = 0; void *v; pthread_create(t, NULL, cancelled, &flag), pthread_cancel(*t), pthread_join(*t, &v), printf("%d %d\n", v == PTHREAD_CANCELED, flag == 77 || flag == 0);
	pthread_create(t, NULL, leaves, &out), pthread_join(*t, &v), printf("%ld %d\n", (long)v, out);
	struct timespec soon = {0}; clock_gettime(CLOCK_REALTIME, &soon), soon.tv_nsec = 0; pthread_mutex_lock(&mutex), num(pthread_cond_timedwait(&cond, &mutex, &soon)), num(pthread_mutex_trylock(&mutex)), pthread_mutex_unlock(&mutex), num(sem_trywait(&sem)), num(pthread_rwlock_trywrlock(&rw)), pthread_rwlock_unlock(&rw);
}

static void processes(void)
{
	int p[2], status; char buf[200] = ""; fflush(stdout), pipe(p);
	pid_t c = fork(); if (!c) { dup2(p[1], 1), puts("from the child"), fflush(stdout), _exit(3); }
	waitpid(c, &status, 0), num(read(p[0], buf, 200)), printf("%d %s", WEXITSTATUS(status), buf);
	c = vfork(); if (!c) _exit(4);
	waitpid(c, &status, 0), printf("%d\n", WEXITSTATUS(status));
	posix_spawn_file_actions_t fa; posix_spawn_file_actions_init(&fa), posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	posix_spawnp(&c, "sh", &fa, NULL, (char *[]){"sh", "-c", "echo spawned $((6*7))", NULL}, environ), waitpid(c, &status, 0), memset(buf, 0, 200), num(read(p[0], buf, 200)), printf("%s", buf), close(p[0]), close(p[1]);
	FILE *f = popen("echo popen; exit 2", "r"); printf("%s", fgets(buf, 200, f)), printf("%d\n", WEXITSTATUS(pclose(f))), fflush(stdout), printf("%d\n", WEXITSTATUS(system("exit 5")));
	int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s), num(send(s[0], "message", 7, 0)); struct pollfd pf = {s[1], POLLIN, 0}; num(poll(&pf, 1, 1000)), num(recv(s[1], buf, 200, 0)), add(buf, 7);
	struct iovec iov[2] = {{"ab", 2}, {"cd", 2}}; num(writev(s[0], iov, 2)), num(readv(s[1], &(struct iovec){buf, 4}, 1)), add(buf, 4); int e = epoll_create1(0); struct epoll_event ev = {EPOLLIN, {.fd = 9}}; num(epoll_ctl(e, EPOLL_CTL_ADD, s[1], &ev)), num(epoll_wait(e, &ev, 1, 0)); fd_set fds; FD_ZERO(&fds); FD_SET(s[1], &fds); num(select(s[1] + 1, &fds, NULL, NULL, &(struct timeval){0})), close(e), close(s[0]), close(s[1]);
	struct in6_addr a6; struct in_addr a4; num(inet_pton(AF_INET6, "2001:db8::1", &a6)), printf("%s %d ", inet_ntop(AF_INET6, &a6, buf, 200), inet_aton("10.1.2.3", &a4)), printf("%s\n", inet_ntoa(a4));
	struct addrinfo *ai, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}; num(getaddrinfo("127.0.0.1", "80", &hints, &ai)), num(getnameinfo(ai->ai_addr, ai->ai_addrlen, buf, 200, NULL, 0, NI_NUMERICHOST)), puts(buf), freeaddrinfo(ai), puts(gai_strerror(EAI_NONAME)), num(ntohl(htonl(5))), num(ntohs(htons(5)));
	struct passwd *pw = getpwuid(0); printf("%s %s\n", pw ? pw->pw_name : "none", realpath("/usr/../usr/bin", buf));
	for (int i = 1; i < 400; i++) { char *m = malloc(i * i), *n = calloc(i, 9); memset(m, i, i * i), m = realloc(m, i * 3), add(m, i), add(n, i * 9), free(n), n = aligned_alloc(64, 64 * i), num((long)n % 64), free(n), free(m); }
	char *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(m, 5, 65536), m = mremap(m, 65536, 131072, MREMAP_MAYMOVE), num(mprotect(m, 4096, PROT_READ)), add(m, 9000), num(madvise(m, 65536, MADV_DONTNEED)), add(m, 10), munmap(m, 131072);
	void *h = dlopen("libm.so.6", RTLD_NOW); double (*cosine)(double) = dlsym(h, "cos"); printf("%g %d %d\n", cosine(0.5), dlsym(RTLD_NEXT, "puts") != NULL, dlsym(RTLD_DEFAULT, "nonesuch") == NULL); Dl_info info; num(dladdr(cosine, &info)), dlclose(h), puts(dlopen("nonesuch.so", RTLD_LAZY) ? "opened" : "not opened"), num(dlerror() != NULL);
}

static void atEnd(void) { puts("at exit"); }

int main(void)
{
	static const struct { const char *name; void (*run)(void); } parts[] = {{"strings", strings}, {"sorting", sorting}, {"numbers", numbers}, {"streams", streams}, {"texts", texts}, {"jumps", jumps}, {"threads", threads}, {"processes", processes}};
	atexit(atEnd);
	for (int i = 0; i < 8; i++)
		parts[i].run(), printf("%s %016" PRIx64 "\n", parts[i].name, sum), sum = 1;
	return 0;
}
