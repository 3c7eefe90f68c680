package remark

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

// TestInternals expects notes on how the kernel probes a site only when they are asked for, of
// first and of later sites, and other notes always.
func TestInternals(t *testing.T) {
	plan := attach.Plan{{Notes: []string{"nop5 in a called stub: optimised by the kernel", "forced: a risk"}}}
	for _, verbose := range []bool{false, true} {
		var out bytes.Buffer
		Plan(&out, plan, verbose)
		if got := strings.Contains(out.String(), "optimised"); got != verbose || !strings.Contains(out.String(), "forced: a risk") {
			t.Errorf("verbose %v: %q", verbose, out.String())
		}
	}
}

// TestManyFunctions warns of more than a thousand functions of the kernel that are attached to.
func TestManyFunctions(t *testing.T) {
	function := attach.Site{Probe: reader.Probe{Kind: reader.Kprobe}, Attached: true}
	plan := slices.Repeat(attach.Plan{function}, 1000)
	refused := function
	refused.Attached = false
	for _, c := range []struct {
		plan attach.Plan
		want bool
	}{{plan, false}, {append(slices.Clone(plan), refused), false}, {append(slices.Clone(plan), function), true}} {
		var out bytes.Buffer
		Plan(&out, c.plan, false)
		if got := strings.Contains(out.String(), "sdttrace: 1001 functions and tracepoints of the kernel are traced: each call costs a microsecond or more, in all processes"); got != c.want {
			t.Errorf("%d sites: %q", len(c.plan), out.String())
		}
	}
}

// TestEnded reports a process that has ended, and none that runs.
func TestEnded(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	Ended(&got, []int{os.Getpid(), cmd.Process.Pid})
	if want := "sdttrace: process " + strconv.Itoa(cmd.Process.Pid) + " has ended\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
