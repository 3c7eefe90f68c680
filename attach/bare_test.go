package attach_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestBareCallers compares the callers of functions that may have no frame of their own, which
// frame pointers skip, with the callers that unwinding finds: in events, and in groups.
func TestBareCallers(t *testing.T) {
	all := []string{
		"-O2 -fno-omit-frame-pointer", "-O2", "-O1 -fno-omit-frame-pointer -momit-leaf-frame-pointer",
		"-O0", "-O2 -fno-asynchronous-unwind-tables -g",
	}
	if testing.Short() { // each takes half a minute on emulated machines
		all = all[:1]
	}
	for _, flags := range all {
		t.Run(flags, func(t *testing.T) {
			path := compileC(t, "bare", append(strings.Fields("gcc -static-pie -fno-optimize-sibling-calls -fcf-protection=none"), strings.Fields(flags)...)...)
			framed := strings.Contains(flags, "no-omit") || strings.Contains(flags, "-O0")
			p := start(t, exec.Command(path))
			// variable+1 is between push %rbp and mov %rsp, %rbp.
			selectors := []string{"bare:*", "uprobe:" + path + ":recursive", "uprobe:" + path + ":wrapped", "uprobe:" + path + ":variable+1"}
			o := attach.Options{Stack: 40, Target: attach.Target{PIDs: []int{p.PID()}}}
			plain := openAll(t, &o, selectors...)
			groups := openAggregate(t, selectors, attach.Count().By("stack"), &o)
			o.Unwind = true
			unwound := openAll(t, &o, selectors...)
			p.Send("")
			for p.Line() != "done" {
			}
			got, want := drain(t, plain), drain(t, unwound)
			if len(got) != len(want) || len(got) < 15 {
				t.Fatalf("%d events, %d unwound, want 15 or more", len(got), len(want))
			}
			for i := range got {
				n := 2
				if framed {
					n = slices.Index(strings.Fields(functions(want[i].Stack)), "main") + 1
				}
				if g := got[i].Stack.PCs; !slices.Equal(g[:min(n, len(g))], want[i].Stack.PCs[:n]) {
					t.Errorf("%s: stack %s, want %s", got[i].Name, functions(got[i].Stack), functions(want[i].Stack))
				}
			}
			counts := map[string]int{}
			for i := range got {
				counts[functions(got[i].Stack)]++
			}
			for _, g := range readGroups(t, groups) {
				counts[functions(g.By[0].Value.(*event.Stack))] -= int(g.Count)
			}
			for stack, n := range counts {
				if framed && n != 0 {
					t.Errorf("%d more events than the group has, of stack %s", n, stack)
				}
			}
		})
	}
}
