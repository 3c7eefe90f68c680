package targets_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestHeapProfile opens profiles of what programs allocate and free with pprof's own command,
// by each of its views, and compares them with what the programs do: one in C, with frame
// pointers and without, and a Go service, by the kernel and through shared memory.
func TestHeapProfile(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	sdttrace, service := needs.Build(t, "cmd/sdttrace"), filepath.Join(dir, "service")
	needs.Run(t, "go", "build", "-o", service, "./testdata/heap")
	for _, test := range []struct {
		name, program, prefix string
		flags                 []string
	}{
		{"frame pointers", needs.Compile(t, "testdata/heap.c", "gcc", "-O1", "-fno-omit-frame-pointer"), "", nil},
		{"call frames", needs.Compile(t, "testdata/heap.c", "gcc", "-O2"), "", []string{"--stack=dwarf"}},
		{"service", service, `main\.`, nil},
		{"shared memory", service, `main\.`, []string{"--user"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "heap.pb.gz")
			var stdout, stderr tracee.Output
			for _, flags := range [][]string{{"-o", file}, {"--format", "folded"}} {
				args := append([]string{"profile", "--weigh", "alloc_objects"}, append(flags, test.flags...)...)
				cmd := exec.Command(sdttrace, append(args, "otel_memory:*", "--", test.program)...)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v: %s", err, stderr.String())
				}
			}
			if want := "sdttrace: 1 free of what was allocated before, or was not seen\n"; !strings.Contains(stderr.String(), want) {
				t.Errorf("sdttrace does not say %q:\n%s", want, stderr.String())
			}
			if want := regexp.MustCompile(`(?m)^\S*;` + test.prefix + `drops 20$`); !want.MatchString(stdout.String()) {
				t.Errorf("no folded stack matches %v:\n%s", want, stdout.String())
			}
			for view, counts := range map[string]map[string]string{
				"alloc_objects": {"keeps": "10", "drops": "20", "samples": "8192"},
				"alloc_space":   {"keeps": "10000B", "drops": "10000B", "samples": "524288B"},
				"inuse_objects": {"keeps": "10", "samples": "8192"},
				"inuse_space":   {"keeps": "10000B", "samples": "524288B"},
			} {
				args := []string{"tool", "pprof", "-top", "-nodefraction=0", "-sample_index=" + view}
				if strings.HasSuffix(view, "space") {
					args = append(args, "-unit=B")
				}
				out := needs.Run(t, "go", append(args, file)...)
				for _, function := range []string{"keeps", "drops", "samples"} {
					line := regexp.MustCompile(`(?m)^ +(\w+) +[\d.]+% +[\d.]+% +(\w+) +[\d.]+% +` + test.prefix + function + `$`).FindStringSubmatch(out)
					got := ""
					if line != nil && line[1] != "0" {
						got = line[1]
					}
					if got != counts[function] || line != nil && line[1] != line[2] {
						t.Errorf("%s of %s: got %q, want %q:\n%s", view, function, got, counts[function], out)
					}
				}
			}
		})
	}
}
