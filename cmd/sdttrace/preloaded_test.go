package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestPreloaded traces by --exe what a preloaded library fires, which neither the program nor
// sdttrace can know before: the processes end at once, and another program has mapped it first.
func TestPreloaded(t *testing.T) {
	needs.Root(t)
	needs.C(t)
	dir := commands(t, "sdttrace")
	library, program, other := filepath.Join(dir, "libpreloaded.so"), filepath.Join(dir, "short"), filepath.Join(dir, "other")
	for path, source := range map[string]string{
		library: "#include <sys/sdt.h>\n__attribute__((constructor)) static void begin(void) { DTRACE_PROBE(preloaded, begin); }\n",
		program: "int main(void) { return 0; }\n",
		other:   "int main(void) { return 0 * 1; }\n",
	} {
		if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	needs.Run(t, "gcc", "-shared", "-fPIC", "-o", library, library+".c")
	needs.Run(t, "gcc", "-o", program, program+".c")
	needs.Run(t, "gcc", "-o", other, other+".c")
	run := func(path string) {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
	}
	traced := tracee.Start(t, exec.Command(filepath.Join(dir, "sdttrace"), "--limit", "1", "--rescan", "1h", "--exe", program, "preloaded:begin"))
	ended := make(chan string, 1)
	go func() { ended <- traced.Rest() }()
	limit := time.After(2 * time.Minute)
	for {
		run(other)
		run(program)
		select {
		case said := <-ended:
			if !strings.Contains(said, "short/") || !strings.Contains(said, "preloaded:begin") {
				t.Errorf("sdttrace printed %q\n%s", said, traced.Stderr())
			}
			return
		case <-limit:
			t.Fatalf("no event has come\n%s", traced.Stderr())
		case <-time.After(10 * time.Millisecond): // for other programs of the machine
		}
	}
}
