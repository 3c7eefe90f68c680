package targets_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

var (
	// saidCost is what sdttrace -v says that events took, and each of them.
	saidCost = regexp.MustCompile(`cost: (\d+) (?:to (\d+) )?ns per event: .*; (\d+) events took ([0-9.µa-z]+)`)
	// ownCost is what a program says.
	ownCost = regexp.MustCompile(`calls: (\d+) ns each`)
)

// compareCost compares what tracing is said to take with how much more CPU time a target takes, in
// several tries: others on the machine disturb both. The shortest times count. How much the times
// without tracing differ is what the machine's disturbance can be wrong by.
func compareCost(t *testing.T, name string, try func() (without, with, said float64)) {
	t.Helper()
	const tries, most = 6, 0.25
	var without, with, said []float64
	for range tries {
		a, b, c := try()
		t.Logf("%s: %.4g without, %.4g more with tracing, said are %.4g", name, a, b-a, c)
		without, with, said = append(without, a), append(with, b), append(said, c)
		slices.Sort(without)
		took, disturbance := slices.Min(with)-without[0], without[len(without)/2]-without[0]
		if math.Abs(slices.Min(said)-took) <= most*took+disturbance {
			return
		}
	}
	t.Errorf("%s: tracing takes %.4g, and is said to take %.4g", name, slices.Min(with)-without[0], slices.Min(said))
}

// TestCostOfLoops compares the cost of probes in programs of C and Go that do little else: in a loop
// and in a function, with numbers, texts and stacks.
func TestCostOfLoops(t *testing.T) {
	needs.Root(t)
	sdttrace := needs.Build(t, "cmd/sdttrace")
	c := needs.Compile(t, "testdata/fires.c", "gcc", "-O2", "-fno-omit-frame-pointer")
	service := filepath.Join(t.TempDir(), "costly")
	needs.Run(t, "go", "build", "-o", service, "./testdata/costly")
	own := func(args ...string) (float64, string) {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		m := ownCost.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		each, _ := strconv.ParseFloat(m[1], 64)
		return each, string(out)
	}
	const times = "50000"
	for _, test := range []struct {
		how           []string // sdttrace is called
		program, kind string
	}{
		{[]string{"count"}, c, "fires:loop"},
		{[]string{"count"}, c, "fires:called"},
		{[]string{"print", "-o", "/dev/null"}, c, "fires:called"},
		{[]string{"print", "-o", "/dev/null", "--str", "arg1", "--stack"}, c, "fires:called"},
		{[]string{"print", "-o", "/dev/null", "--where", "arg0 < 0"}, c, "fires:loop"},
		{[]string{"count"}, service, "costly:number"},
		{[]string{"stats", "n"}, service, "costly:text"},
		{[]string{"print", "-o", "/dev/null"}, service, "costly:text"},
		{[]string{"print", "-o", "/dev/null", "--stack"}, service, "costly:number"},
	} {
		_, kind, _ := strings.Cut(test.kind, ":")
		compareCost(t, fmt.Sprint(test.how, test.kind), func() (without, with, said float64) {
			without, _ = own(test.program, kind, times)
			args := append([]string{sdttrace}, test.how...)
			with, out := own(append(args, "-v", test.kind, "--", test.program, kind, times)...)
			m := saidCost.FindStringSubmatch(out)
			if m == nil || m[2] != "" || m[3] != times {
				t.Fatalf("%s", out)
			}
			said, _ = strconv.ParseFloat(m[1], 64)
			return without, with, said
		})
	}
}

// TestCostOfPostgres compares the cost of tracing a server that is busy.
func TestCostOfPostgres(t *testing.T) {
	needs.Root(t)
	sdttrace := needs.Build(t, "cmd/sdttrace")
	p := startPostgres(t)
	p.undisturbed()
	work := func() float64 {
		children := func() int {
			list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.pid))
			if err != nil {
				t.Fatal(err)
			}
			return len(bytes.Fields(list))
		}
		before, idle := childrenTime(t, p.pid), children()
		p.client("pgbench", "-n", "-S", "-c", "1", "-t", "4000")
		p.eventually("without the connection", func() bool { return children() <= idle })
		return (childrenTime(t, p.pid) - before).Seconds()
	}
	work() // warms up
	for _, how := range [][]string{{"count"}, {"print", "-o", "/dev/null", "--stack"}} {
		compareCost(t, fmt.Sprint(how, "PostgreSQL"), func() (without, with, said float64) {
			without = work()
			args := append(how, "-v")
			for _, probe := range []string{"query__start", "query__done", "buffer__read__*", "lwlock__acquire", "lwlock__release"} {
				args = append(args, p.server+":postgresql:"+probe)
			}
			cmd := exec.Command(sdttrace, args...)
			var stderr tracee.Output
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stderr.Await(t, "attached to")
			with = work()
			cmd.Process.Signal(syscall.SIGINT)
			err := cmd.Wait()
			m := saidCost.FindStringSubmatch(stderr.String())
			if err != nil || m == nil || !strings.Contains(stderr.String(), "of CPU time that the processes with these probes took") {
				t.Fatalf("%v: %s", err, &stderr)
			}
			took, err := time.ParseDuration(m[4])
			if err != nil {
				t.Fatal(err)
			}
			return without, with, took.Seconds()
		})
	}
}

// childrenTime returns the CPU time of a process's children that have ended.
func childrenTime(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, i := range []int{13, 14} { // cutime and cstime
		n, _ := strconv.Atoi(fields[i])
		sum += time.Duration(n) * time.Second / 100
	}
	return sum
}
