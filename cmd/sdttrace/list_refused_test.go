package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// refusing is a program with a probe at pushf, and with one at nop.
const refusing = `
#include <stdio.h>
#define NOTE(name, insn) __asm__ volatile ("990: " insn "\n" \
	".pushsection .note.stapsdt,\"\",\"note\"; .balign 4; .4byte 992f-991f,994f-993f,3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b,_.stapsdt.base,0\n" \
	".asciz \"marked\"; .asciz \"" name "\"; .asciz \"\"\n994: .balign 4\n.popsection\n" \
	".ifndef _.stapsdt.base; .pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat; .weak _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1; .size _.stapsdt.base,1; .popsection; .endif" ::: "memory", "rax")
int main(void) { NOTE("bad", "pushf; pop %%rax"); NOTE("good", "nop"); puts("ready"); fflush(stdout); getchar(); return 0; }
`

// TestListRefused lists a probe that would be refused, and one that would not.
func TestListRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	needs.Tools(t, "gcc")
	source := filepath.Join(t.TempDir(), "refusing.c")
	if err := os.WriteFile(source, []byte(refusing), 0o600); err != nil {
		t.Fatal(err)
	}
	path := needs.Compile(t, source, "gcc", "-mno-red-zone")
	pid := fmt.Sprint(tracee.Start(t, exec.Command(path)).Ready().PID())
	list := func(args ...string) string {
		out, err := exec.Command(filepath.Join(commands(t, "sdttrace"), "sdttrace"), append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatalf("list %q: %v", args, err)
		}
		return string(out)
	}
	const why = "pushf would store the trap flag"
	for _, args := range [][]string{{"-p", pid}, {"-v", "marked:*"}} {
		lines := strings.Split(list(args...), "\n")
		if bad, good := lines[1], lines[2]; !strings.Contains(bad, " clean! ") || strings.Contains(good, "!") || (args[0] == "-v") != strings.Contains(bad, why) {
			t.Errorf("list %q prints\n%s", args, strings.Join(lines, "\n"))
		}
	}
	for line := range strings.Lines(list("--json", "-p", pid)) {
		var p struct{ Name, Reason string }
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if (p.Name == "bad") != strings.HasPrefix(p.Reason, why) || p.Name == "good" && p.Reason != "" {
			t.Errorf("the reason is %q: %s", p.Reason, line)
		}
	}
}
