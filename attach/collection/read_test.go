package collection_test

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestArguments compares what programs compiled from C read with what
// the traced program fires, for objects of two versions of usdt.bpf.h.
func TestArguments(t *testing.T) {
	const einval = -22
	programs := []struct {
		command []string
		kind    attach.LinkKind
		bits    int
	}{
		{[]string{"gcc", "-O2"}, attach.AutoLink, 64},
		{[]string{"gcc", "-O2", "-no-pie", "-DSEMAPHORES"}, attach.PerfLink, 64},
		{[]string{"clang", "-O2"}, attach.AutoLink, 64},
		{needs.I386, attach.AutoLink, 32}, // whose data nobody has touched
	}
	probes := []string{"ints", "consts", "memory", "global"}
	for _, object := range []string{"installed", "newest"} {
		path := newestObject
		if object == "installed" {
			path = needs.CompileBPF(t, "testdata/collection.bpf.c")
		}
		spec := bpf.ReadSpec(t, path)
		indexed := object == "newest"
		for _, test := range programs {
			t.Run(fmt.Sprintf("%s/%s%d%v", object, strings.Join(test.command[:2], ""), test.bits, test.kind), func(t *testing.T) {
				target := compile(t, test.command...)
				p := start(t, exec.Command(target))
				c := newCollection(t, spec, &collection.Options{Link: test.kind, Target: attach.Target{PIDs: []int{p.PID()}}})
				program, number := "any", uint32(1)
				if test.bits == 32 {
					program, number = "sleepable", 2
				}
				want := map[string][]int64{
					"ints":   {-8, 200, -1600, 60000, -320000, 4000000000, -64000000000, -0x123456789abcdf0},
					"consts": {-9, math.MaxUint32, math.MaxInt64, 255},
					"memory": {-20, 'b', 30},
					"global": {-77, -2, 4242},
				}
				if test.bits == 32 {
					want["ints"] = want["ints"][:6]
				}
				plans := map[string]attach.Plan{}
				for i, name := range probes {
					a := attachProgram(t, c, program, target+":args:"+name, &collection.Options{Cookie: uint64(i) - 1})
					plans[name] = a.Plan()
				}
				p.Do("")
				events := firings(t, c)
				if len(events) != len(probes) {
					t.Fatalf("%d events, want one of each of %v", len(events), probes)
				}
				for i, ev := range events {
					name := probes[i]
					failed := map[int]error{}
					for _, err := range plans[name][0].ArgErrs {
						e := err.(*collection.ArgError)
						if failed[e.Index] = e; !errors.Is(err, e.Err) || !strings.Contains(err.Error(), e.Text) {
							t.Errorf("%s: %v does not wrap %v, or lacks %q", name, err, e.Err, e.Text)
						}
					}
					if ev.Program != number || ev.Cookie != int64(i)-1 || int(ev.Count) != len(want[name]) {
						t.Errorf("%s: program %d, cookie %d, %d arguments, want %d, %d, %d", name, ev.Program, ev.Cookie, ev.Count, number, i-1, len(want[name]))
					}
					for n, w := range want[name] {
						switch err := failed[n]; {
						case err != nil:
							// Only arguments with an index fail, and only with
							// the old header.
							if ev.Errors[n] != einval || ev.Args[n] != 0 || !strings.Contains(err.Error(), "indexed") || indexed {
								t.Errorf("%s: argument %d: %v, and bpf_usdt_arg gives %d, value %d", name, n, err, ev.Errors[n], ev.Args[n])
							}
						case ev.Errors[n] != 0:
							t.Errorf("%s: bpf_usdt_arg %d returns %d", name, n, ev.Errors[n])
						case ev.Args[n] != w:
							t.Errorf("%s: argument %d is %d, want %v", name, n, ev.Args[n], w)
						}
						if size := ev.Sizes[n]; indexed && size != 1 && size != 2 && size != 4 && size != 8 {
							t.Errorf("%s: bpf_usdt_arg_size %d is %d", name, n, size)
						}
					}
					if n := len(want[name]); ev.Errors[n] != -2 || ev.Args[n] != 0 { // ENOENT
						t.Errorf("%s: bpf_usdt_arg %d beyond the last returns %d", name, n, ev.Errors[n])
					}
					// For arm64, gcc reads such memory itself.
					if name == "memory" && test.command[0] == "gcc" && runtime.GOARCH == "amd64" && !indexed && len(failed) == 0 {
						t.Error("no argument of memory has an index: the test has lost its point")
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				p.Do("") // unharmed
			})
		}
	}
}
