package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// translated fires three probes after each line that it reads, and says how often it has.
const translated = `
#include <stdio.h>
#include <sys/sdt.h>
int main(void)
{
	int n = 0, c;
	setvbuf(stdout, 0, _IOLBF, 0);
	while ((c = getchar()) != EOF) {
		for (int i = 0; i < 3; i++, n++)
			DTRACE_PROBE1(translated, fired, n);
		printf("fired %d\n", n);
	}
	return 0;
}
`

// TestTranslated runs a program by an emulator, which translates its code, breakpoints
// included: sdttrace puts none there, also where the emulator is executed later, and the
// program lives.
func TestTranslated(t *testing.T) {
	needs.Root(t)
	needs.C(t)
	emulator := map[string]string{"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}[runtime.GOARCH]
	needs.Tools(t, emulator)
	dir := commands(t, "sdttrace")
	program := filepath.Join(dir, "translated")
	if err := os.WriteFile(program+".c", []byte(translated), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O2", "-o", program, program+".c")
	const refused = "runs its code by QEMU"
	for _, test := range []struct {
		probe   string
		command []string
		want    string
	}{
		{program + ":translated:fired", []string{emulator, program}, refused},
		{program + ":translated:fired", []string{"sh", "-c", "exec " + emulator + " " + program}, refused},
		{"translated:fired", []string{"sh", "-c", "exec " + emulator + " " + program}, "no probe matches"},
		{"uprobe:" + program + ":main", []string{"sh", "-c", "exec " + emulator + " " + program}, refused},
	} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), append([]string{"count", test.probe, "--"}, test.command...)...)
		out := new(tracee.Output)
		cmd.Stdout, cmd.Stderr = out, out
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.WriteString(stdin, "12")
		if test.want == refused { // the program must not be gone before it is looked at
			out.Await(t, refused)
		}
		stdin.Close()
		cmd.Wait()
		said := out.String()
		// Where nothing can be attached to, sdttrace ends the command at once.
		if alive := strings.Contains(said, "fired 6") || strings.Contains(said, "no site could be attached to"); !alive || strings.Contains(said, "trap") || !strings.Contains(said, test.want) {
			t.Errorf("%q said\n%s", cmd.Args[1:], said)
		}
	}

	running := tracee.Start(t, exec.Command(emulator, program))
	running.Do("")
	out, err := exec.Command(filepath.Join(dir, "sdttrace"), "count", "--duration", "1s", program+":translated:fired").CombinedOutput()
	if err == nil || !strings.Contains(string(out), refused) {
		t.Errorf("a file that the emulator has mapped: %v\n%s", err, out)
	}
	if got := running.Do(""); got != "fired 6" {
		t.Errorf("the running program said %q, want %q", got, "fired 6")
	}
}
