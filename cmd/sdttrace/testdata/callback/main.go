// Callback fires a probe in C that Go called, which C called, which Go called.
package main

/*
#cgo CFLAGS: -O2
#include <sys/sdt.h>
extern int back(int);
static __attribute__((noinline)) void hit(int n) { DTRACE_PROBE1(callback, hit, n); }
static __attribute__((noinline)) int outer(int n) { int r = back(n); __asm__ volatile(""); return r + 1; }
static __attribute__((noinline)) int inner(int n) { hit(n); __asm__ volatile(""); return n; }
*/
import "C"

//export back
func back(n C.int) C.int { return C.inner(n) + 1 }

func main() { C.outer(1) }
