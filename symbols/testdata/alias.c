// A library whose functions have several names, as those of C libraries do.
#define ALIAS(name) extern __typeof(name)

int __lib_alloc(int n) { return n + 1; } // as malloc: its own name, and the public one
ALIAS(__lib_alloc) alloc_lib __attribute__((alias("__lib_alloc")));
ALIAS(__lib_alloc) allocate_lib __attribute__((alias("__lib_alloc")));

int release(int n) { return n + 2; } // both are public: the source has one of them
ALIAS(release) free_ __attribute__((alias("release")));

int __lookup(int n) { return n + 3; } // as read: a hidden name, a private one, a weak public one
ALIAS(__lookup) __GI___lookup __attribute__((alias("__lookup"), visibility("hidden")));
ALIAS(__lookup) lookup __attribute__((alias("__lookup"), weak));

int copy_new(int n) { return n + 4; } // as memcpy: with versions
int copy_old(int n) { return n + 5; }
__asm__(".symver copy_new, copy@@LIB_2");
__asm__(".symver copy_old, copy@LIB_1");

static int __attribute__((noinline, used)) _local(int n) { return n + 6; }
int start(void) { return _local(1); }
