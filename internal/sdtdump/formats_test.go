package sdtdump

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// output runs sdtdump, which must succeed, and returns its output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(args, &stdout, &stderr); code != exitDone {
		t.Fatalf("sdtdump %q: exit code %d\n%s", args, code, &stderr)
	}
	return stdout.String()
}

// startService runs the program of service and returns its process id.
func startService(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(start(t, serviceCommand(t)).pid)
}

// compile compiles testdata/formats.c.
func compile(t *testing.T) string {
	t.Helper()
	needs.C(t)
	prog := filepath.Join(t.TempDir(), "prog")
	needs.Run(t, "gcc", "-O2", "-o", prog, "testdata/formats.c")
	return prog
}

// TestUprobeEvents feeds the output of --format uprobe_events to the kernel, in
// groups of this run's own, because events belong to the machine.
func TestUprobeEvents(t *testing.T) {
	needs.Root(t)
	const events = "/sys/kernel/tracing/uprobe_events"
	if _, err := os.Stat(events); err != nil {
		if out, err := exec.Command("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing").CombinedOutput(); err != nil {
			needs.Skip(t, "no tracefs: %s", out)
		}
	}
	for name, args := range map[string][]string{
		"C":       {compile(t)},
		"typed":   {"-p", startService(t), "--probe", "sdtdump_service:*"},
		"machine": {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "machine" {
				if _, err := os.Stat(args[0]); err != nil {
					needs.Skip(t, "needs libstdc++: %v", err)
				}
			}
			lines := output(t, append(args, "--format", "uprobe_events")...)
			n := 0
			for line := range strings.Lines(lines) {
				event, isEvent := strings.CutPrefix(line, "p:")
				if isEvent {
					event = fmt.Sprintf("t%d_%s", os.Getpid(), event)
					line = "p:" + event
				}
				if err := appendTo(events, line); err != nil {
					t.Errorf("%s: %v", line, err)
					continue
				}
				if isEvent {
					n++
					event, _, _ = strings.Cut(event, " ")
					t.Cleanup(func() {
						if err := appendTo(events, "-:"+event); err != nil {
							t.Errorf("remove %s: %v", event, err)
						}
					})
				}
			}
			if n == 0 {
				t.Errorf("no events in\n%s", lines)
			}
		})
	}
}

func appendTo(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// TestBpftrace feeds the output of --format bpftrace to bpftrace, which attaches and
// then ends. INTEROP.md has the values that bpftrace then shows.
func TestBpftrace(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "bpftrace")
	for name, args := range map[string][]string{
		"C":     {compile(t)},
		"typed": {"-p", startService(t), "--probe", "sdtdump_service:*"},
		"known": {cxxLibrary(t)},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.SplitAfter(output(t, append(args, "--format", "bpftrace")...), "\n")
			// If bpftrace from 0.24 on refuses one of the probes, it attaches to
			// none. The comment above such a probe says so.
			var program string
			refused := 0
			for i, line := range lines {
				if i > 0 && strings.Contains(lines[i-1], " refuses this probe ") && !strings.HasPrefix(line, "//") {
					refused++
					line = ""
				}
				program += line
			}
			if want := map[string]int{"C": 2}[name]; refused != want {
				t.Errorf("%d probes of which it says that bpftrace refuses them, want %d:\n%s", refused, want, lines)
			}
			// The last clause ends bpftrace once everything is attached.
			program += "interval:ms:1 { exit(); }\n"
			out, err := exec.Command("bpftrace", "-e", program).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Attach") || strings.Contains(string(out), "Error finding") {
				t.Errorf("bpftrace: %v\n%s\n%s", err, program, out)
			}
		})
	}
}

// TestCStructs compiles the output of --format c, and compares sizes and offsets.
func TestCStructs(t *testing.T) {
	needs.Tools(t, "gcc")
	source := output(t, "-p", startService(t), "--format", "c", "--probe", "sdtdump_service:*")
	source = "#include <stddef.h>\n" + source + `
_Static_assert(offsetof(struct sdtdump_service_tick, seq) == 0, "seq");
_Static_assert(offsetof(struct sdtdump_service_tick, msg) == 8, "msg");
_Static_assert(offsetof(struct sdtdump_service_tick, load) == 16, "load");
_Static_assert(sizeof(struct sdtdump_service_tick) == 32, "size");
double load(struct sdtdump_service_tick *t) { return t->msg[0] + t->load; }
`
	cmd := exec.Command("gcc", "-Wall", "-Werror", "-xc", "-fsyntax-only", "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("gcc: %v\n%s\n%s", err, source, out)
	}
}
