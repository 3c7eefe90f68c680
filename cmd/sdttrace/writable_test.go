package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestWritable traces a program that makes its code writable: a breakpoint that is there already
// stays, and where the kernel puts none, sdttrace says so.
func TestWritable(t *testing.T) {
	needs.Root(t)
	needs.C(t)
	dir := commands(t, "sdttrace")
	program := filepath.Join(dir, "writable")
	const source = `
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <unistd.h>

__attribute__((noinline)) void fire(void) { DTRACE_PROBE(writable, fired); }

int main(void)
{
	uintptr_t page = (uintptr_t)fire & -(uintptr_t)sysconf(_SC_PAGESIZE);
	fire();
	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	fire();
	while (getchar() != EOF) {
		fire();
		puts("fired");
		fflush(stdout);
	}
	return 0;
}
`
	if err := os.WriteFile(program+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O2", "-o", program, program+".c")
	sdttrace := filepath.Join(dir, "sdttrace")
	out, err := exec.Command(sdttrace, "count", "writable:fired", "--", program).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 events, 0 lost") {
		t.Errorf("from the start: %v\n%s", err, out)
	}
	running := tracee.Start(t, exec.Command(program))
	running.Do("")
	out, err = exec.Command(sdttrace, "count", "--duration", "1s", "-p", fmt.Sprint(running.PID()), "writable:fired").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has mapped the site writable") {
		t.Errorf("a process with writable code: %v\n%s", err, out)
	}
	running.Do("")
}
