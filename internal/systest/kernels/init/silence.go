//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// silence is for how long a suite may print nothing before the processes of the machine are printed.
const silence = 4 * time.Minute

// processes describes the processes of the machine that are no kernel threads: what each thread waits for.
func processes() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing was printed for %s; the processes are:\n", silence)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		command, _ := os.ReadFile(dir + "/cmdline") // a process may have ended
		if len(command) == 0 {
			command, _ = os.ReadFile(dir + "/comm") // it ends, or is a thread of the kernel
		}
		if isKernel(dir) {
			continue
		}
		threads, _ := filepath.Glob(dir + "/task/*")
		fmt.Fprintf(&b, "%s %q, %d threads\n", filepath.Base(dir), bytes.Trim(bytes.ReplaceAll(command, []byte{0}, []byte{' '}), " \n"), len(threads))
		for _, thread := range threads {
			stat, _ := os.ReadFile(thread + "/stat")
			_, state, _ := strings.Cut(string(stat), ") ")
			stack, _ := os.ReadFile(thread + "/stack")
			fmt.Fprintf(&b, "\t%s %.1s %s\n", filepath.Base(thread), state, strings.Join(strings.Fields(string(stack)), " "))
		}
	}
	return b.String()
}

// isKernel reports whether a process is a thread of the kernel, which kthreadd (2) starts.
func isKernel(dir string) bool {
	stat, _ := os.ReadFile(dir + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	return filepath.Base(dir) == "2" || len(f) > 1 && f[1] == "2"
}
