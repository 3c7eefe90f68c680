// Threads that end in functions of the C library, and in one of a library of C, while what their
// callers clean up is still to be done; and exceptions that pass through that library:
//
//	gcc -O1 -shared -fPIC -DINNER -x c -o libinner.so unwound.cc
//	gcc -O1 -shared -fPIC -DOUTER -x c -o libouter.so unwound.cc libinner.so
//	g++ -O1 -o unwound unwound.cc libouter.so
//
// For each line that it reads, the program answers with what was cleaned up or caught, by way of
// read, pthread_cond_wait, pthread_exit, two of the library's functions and its callback.

#if defined(INNER)
#include <unistd.h>

int inner(int (*call)(int), int n) { return call(n) + 1; }
int takes(int fd)
{
	char c;
	return read(fd, &c, 1) + 1;
}
#elif defined(OUTER)
int inner(int (*call)(int), int n);
int outer(int (*call)(int), int n) { return inner(call, n) + 1; }
#else
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

extern "C" int outer(int (*call)(int), int n);
extern "C" int takes(int fd);

static int fds[2], cleaned[5];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

struct Clean {
	int &what;
	~Clean() { what++; }
};
struct Lock {
	Lock() { pthread_mutex_lock(&mutex); }
	~Lock() { pthread_mutex_unlock(&mutex); }
};

static void *reads(void *)
{
	Clean c{cleaned[0]};
	char b;
	for (;;)
		if (read(fds[0], &b, 1) < 0)
			return nullptr;
}

static void *waits(void *)
{
	Clean c{cleaned[1]};
	Lock l;
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

static void *exits(void *)
{
	Clean c{cleaned[2]};
	pthread_exit(nullptr);
}

static void *takesOne(void *)
{
	Clean c{cleaned[3]};
	for (;;)
		if (takes(fds[0]) < 1)
			return nullptr;
}

static int throws(int n)
{
	throw n;
}

int main()
{
	char line[32];
	if (pipe(fds))
		return 1;
	while (fgets(line, sizeof line, stdin)) {
		void *(*all[])(void *) = {reads, waits, exits, takesOne};
		for (auto f : all) {
			pthread_t t;
			if (pthread_create(&t, nullptr, f, nullptr))
				return 1;
			if (f != exits)
				pthread_cancel(t);
			pthread_join(t, nullptr);
		}
		try {
			outer(throws, 1);
		} catch (int) {
			cleaned[4]++;
		}
		int free = pthread_mutex_trylock(&mutex) == 0;
		if (free)
			pthread_mutex_unlock(&mutex);
		printf("%d %d %d %d %d free %d\n", cleaned[0], cleaned[1], cleaned[2], cleaned[3], cleaned[4], free);
		fflush(stdout);
		for (int &n : cleaned)
			n = 0;
	}
}
#endif
