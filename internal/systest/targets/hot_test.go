package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestHotFunction checks that sdttrace warns of malloc in a program that calls it a thousand
// times and rests for a millisecond, before it records events, and not where one in so many is
// recorded, where it is told to be quiet, or of a program that sleeps. It tries again where it
// has to warn: the program calls malloc seldom while others have the CPU, or the host of a
// virtual machine. A program that never rested would slow down what else is tested.
func TestHotFunction(t *testing.T) {
	needs.Tools(t, "gcc")
	dir := buildTracer(t)
	source := filepath.Join(dir, "busy.c")
	text := `#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
int main(int n, char **v) {
	puts("ready");
	fflush(stdout);
	for (int i = 1;; i++)
		if (n > 1)
			pause();
		else if (free(malloc(8)), i % 1000 == 0)
			usleep(1000);
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "busy")
	needs.Run(t, "gcc", "-O0", "-o", program, source)
	busy := tracee.StartVictim(t, exec.Command("nice", "-n", "-20", program)).Ready()
	idle := tracee.StartVictim(t, exec.Command(program, "idle")).Ready()
	warning := regexp.MustCompile(`(?m)^sdttrace: uprobe:libc.so.6:malloc is called [\d,.]+[kM]? times a second, .*: --sample 100+ records one in so many, .*\n(.*\n)*sdttrace: attached to `)
	bounded := regexp.MustCompile(`(?m)^sdttrace: uprobe:libc.so.6:malloc is called [\d,.]+[kM]? times a second, .*: most of that is the trap into the kernel, which only a short --duration, such as 100ms, bounds\n(.*\n)*sdttrace: attached to `)
	for _, c := range []struct {
		p     *tracee.Program
		flags []string
		warns bool
	}{
		{busy, []string{"count", "--duration", "500ms"}, true},
		{busy, []string{"--limit", "1"}, true},
		{busy, []string{"--limit", "1", "--sample", "100"}, false},
		{busy, []string{"--limit", "1", "-q"}, false},
		{busy, []string{"count", "--duration", "100ms"}, false},
		{idle, []string{"--duration", "100ms"}, false},
	} {
		warning := warning
		if c.flags[0] == "count" { // which records nothing
			warning = bounded
		}
		var out []byte
		var err error
		for range 5 {
			cmd := exec.Command(filepath.Join(dir, "sdttrace"), append(c.flags, "-p", fmt.Sprint(c.p.PID()), "uprobe:libc.so.6:malloc")...)
			if out, err = cmd.CombinedOutput(); err != nil || !c.warns || warning.Match(out) {
				break
			}
		}
		if err != nil || warning.Match(out) != c.warns {
			t.Errorf("%q: %v, warns %v, want %v: %s", c.flags, err, warning.Match(out), c.warns, out)
		}
	}
}
