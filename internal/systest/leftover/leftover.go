// Package leftover checks that the tests of a package leave nothing behind in
// their process: no descriptor, no mapping of a file without a name, no child.
package leftover

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patience is how long closed objects may take to go: perf events are closed in
// the background, at 0.1 s each, and files when the collector finds them.
const patience = time.Minute

// Run runs the tests of m, a [testing.M], and returns the exit status: 1 if they
// pass and leave something behind.
func Run(m interface{ Run() int }) int {
	before := held()
	status := m.Run()
	if status != 0 || other() {
		return status
	}
	left := since(before)
	for deadline := time.Now().Add(patience); len(left) > 0 && time.Now().Before(deadline); left = since(before) {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	if len(left) == 0 {
		return 0
	}
	fmt.Fprintf(os.Stderr, "the tests leave behind:\n%s\n", strings.Join(left, "\n"))
	return 1
}

// Tests is a [testing.M] whose Run is [Run], for a package that calls it.
type Tests struct{ M interface{ Run() int } }

// Run runs the tests.
func (t Tests) Run() int { return Run(t.M) }

// other reports whether this process does something other than test: a fuzzing
// process has files of its own, and a benchmark need not wait.
func other() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return true
		}
	}
	return false
}

// since returns what is held now and was not, or less often, in before.
func since(before map[string]int) []string {
	var left []string
	for what, n := range held() {
		if n > before[what] {
			left = append(left, fmt.Sprintf("%s (%d, before %d)", what, n, before[what]))
		}
	}
	slices.Sort(left)
	return left
}

// own matches descriptors that the Go runtime opens when it needs them, and
// keeps.
var own = regexp.MustCompile(`^anon_inode:\[event(poll|fd)\]$|^/proc/\d+/(fd|task.*)$`)

// nameless matches mappings made by hand: of objects of the kernel, of memory
// files and of files that are gone. The dynamic linker makes none of these.
var nameless = regexp.MustCompile(`anon_inode:|/memfd:| \(deleted\)$|usdt`)

// held counts what this process holds, by kind.
func held() map[string]int {
	all := map[string]int{}
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && !own.MatchString(target) {
			all["descriptor of "+target]++
		}
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		// Five fields and the path, see proc_pid_maps(5).
		fields := strings.Fields(line)
		if path := strings.Join(fields[min(5, len(fields)):], " "); nameless.MatchString(path) {
			all["mapping of "+path]++
		}
	}
	children, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range children {
		pids, _ := os.ReadFile(name)
		for _, pid := range strings.Fields(string(pids)) {
			comm, _ := os.ReadFile("/proc/" + pid + "/comm")
			all["process "+strings.TrimSpace(string(comm))]++
		}
	}
	return all
}
