package attach_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestVectorFunctions attaches to functions that begin with vector instructions, or have
// one at an offset, and lets the program check their results.
func TestVectorFunctions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	if info, _ := os.ReadFile("/proc/cpuinfo"); !strings.Contains(string(info), " avx2 ") {
		needs.Skip(t, "needs a processor with AVX2")
	}
	path := build(t, "vectors.c", "gcc", "-O1", "-mavx2")
	for _, kind := range []string{"uprobe:", "uretprobe:"} {
		s := open(t, kind+path+":vx_*", nil)
		for _, site := range s.Plan() {
			if fine := site.Probe.Name == "vx_57"; fine != site.Attached || fine == errors.Is(site.Reason, attach.ErrUnsafe) {
				t.Errorf("%s%s: attached %t, reason %v", kind, site.Probe.Name, site.Attached, site.Reason)
			}
		}
		if wrong := start(t, exec.Command(path)).Do(""); wrong != "0" {
			t.Errorf("%s: %s wrong results", kind, wrong)
		}
		if got := len(drain(t, s)); got != 3 {
			t.Errorf("%s: %d events, want 3", kind, got)
		}
	}
	_, err := attach.Open(t.Context(), []string{"uprobe:" + path + ":vx_70+5"}, nil)
	if !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), "takes this vector instruction (opcode 7e) for a conditional jump") {
		t.Errorf("within vx_70: got %v, want that the kernel takes the instruction for a jump", err)
	}
}
