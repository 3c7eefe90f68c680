package attach_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// bpftraceTries is how many patterns bpftrace may refuse: old versions load no programs for some functions.
const bpftraceTries = 6

// BenchmarkBpftraceKernel attaches to a thousand functions of the kernel to count calls, and detaches, and compares
// that with what bpftrace takes to do so by trampolines, for each of which it loads a program and makes a link: for
// each function of a smaller pattern, without what it takes for one.
func BenchmarkBpftraceKernel(b *testing.B) {
	needs.Kprobes(b)
	needs.Tools(b, "bpftrace")
	table, err := kernfunc.Load()
	if err != nil {
		giveUp(b, err)
	}
	named := map[string]int{}
	for i := range table.Functions {
		if f := &table.Functions[i]; f.Module == kernfunc.Kernel && len(f.Name) > 4 {
			named[f.Name[:4]]++
		}
	}
	var few []string
	for _, prefix := range slices.Sorted(maps.Keys(named)) {
		if n := named[prefix]; n >= 50 && n <= 100 && prefix[0] >= 'a' && prefix != "vfs_" {
			few = append(few, prefix)
		}
	}
	bpftrace := func(functions string) (took time.Duration, attached int, err error) {
		cmd := exec.Command("bpftrace", "-e", "kfunc:"+functions+" { @ = count(); } interval:ms:1 { exit(); }")
		cmd.Env = append(os.Environ(), "BPFTRACE_MAX_PROBES=1024", "BPFTRACE_MAX_BPF_PROGRAMS=1024")
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, 0, fmt.Errorf("bpftrace %s: %w\n%s", functions, err, out)
		}
		took = time.Since(begun)
		if _, err := fmt.Sscanf(string(out), "Attaching %d probes", &attached); err != nil {
			return 0, 0, fmt.Errorf("bpftrace %s says %q: %w", functions, out, err)
		}
		return took, attached - 1, nil // without the interval
	}
	kind := "fentry"
	if attach.TrampolinesAlone() {
		kind = "kprobe"
	}
	pattern := aThousand(b, kind)
	for b.Loop() {
		n := 0
		ours := time.Duration(1 << 62)
		for range turns {
			ours = min(ours, timed(func() {
				a, err := attach.OpenAggregate(b.Context(), []string{pattern}, attach.Count(), nil)
				if err != nil {
					giveUp(b, err)
				}
				n = attach.Plan(a.Plan()).Attached()
				if err := a.Close(); err != nil {
					b.Fatal(err)
				}
			}))
		}
		one, _, err := bpftrace("vfs_fallocate")
		if err != nil {
			b.Fatal(err)
		}
		for i, prefix := range few {
			all, attached, err := bpftrace(prefix + "*")
			if err != nil && i < bpftraceTries {
				b.Log(err)
				continue
			}
			if err != nil {
				b.Fatal(err)
			}
			each := (all - one) / time.Duration(attached-1)
			b.ReportMetric(float64(ours)/1e6, "count-ms")
			b.ReportMetric(float64(each)/1e6, "bpftrace-ms/function")
			b.ReportMetric(float64(each)*float64(n)/float64(ours), "times")
			b.Logf("%s: %d functions; bpftrace: one in %v, %d of %s* in %v", pattern, n, one, attached, prefix, all)
			break
		}
	}
}
