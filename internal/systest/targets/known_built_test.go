package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/prototype"
)

// TestKnownBuilt traces a program that declares the probes of programs that Debian builds without
// them, and passes what those pass.
func TestKnownBuilt(t *testing.T) {
	needs.Root(t)
	needs.C(t)
	table, err := os.ReadFile("testdata/built.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want, selectors []string
	var source strings.Builder
	source.WriteString("#define SDT_USE_VARIADIC\n#include <stddef.h>\n#include <stdint.h>\n#include <sys/sdt.h>\nint main(void) {\n")
	tried := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		provider, name, _ := strings.Cut(columns[0], ":")
		tried[columns[0]] = true
		if all := provider + ":*"; !slices.Contains(selectors, all) {
			selectors = append(selectors, all)
		}
		// A variable has the type of an expression, and no known value.
		source.WriteString("\t{")
		var variables string
		passed := strings.Split(columns[1], ", ")
		if columns[1] == "" {
			passed = nil
		}
		for i, expression := range passed {
			fmt.Fprintf(&source, ` __auto_type v%d = %s; __asm__ volatile("" : "+m"(v%d));`, i, expression, i)
			variables += fmt.Sprintf(", v%d", i)
		}
		fmt.Fprintf(&source, " STAP_PROBEV(%s, %s%s); }\n", provider, name, variables)
		want = append(want, strings.TrimSpace(columns[0]+" "+columns[2]))
	}
	source.WriteString("\treturn 0;\n}\n")

	dir := t.TempDir()
	program := filepath.Join(dir, "built")
	if err := os.WriteFile(program+".c", []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "gcc", "-O1", "-o", program, program+".c")
	sdttrace := exec.Command(needs.Build(t, "cmd/sdttrace"), slices.Concat([]string{"-q"}, selectors, []string{"--", program})...)
	out, err := sdttrace.Output()
	if err != nil {
		t.Fatalf("%v: %v", sdttrace, err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		got = append(got, strings.Join(strings.Fields(line)[2:], " "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}

	for _, all := range selectors {
		provider := strings.TrimSuffix(all, ":*")
		known, err := prototype.ReadFile("../../../prototype/known/" + provider + ".probes")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range known.Prototypes() {
			if probe := p.Provider + ":" + p.Name; !tried[probe] && len(p.Params) > 0 {
				t.Errorf("testdata/built.txt does not try %s", probe)
			}
		}
	}
}

// TestKnownStap traces SystemTap itself, which Debian builds with probes: what it executes last
// removes its directory.
func TestKnownStap(t *testing.T) {
	stap := find(t, "stap", "/usr/bin/stap", "stap")
	s := open(t, []string{stap + ":stap:*"}, known())
	cmd := exec.Command(stap, "-p1", "-e", "probe begin { exit() }")
	if err := cmd.Run(); cmd.Process == nil { // it ends with 1 where there are no headers of the kernel
		t.Fatal(err)
	}
	var commands []string
	sessions, children := map[any]bool{}, map[any]int{}
	for _, ev := range drain(t, s) {
		switch {
		case ev.PID != cmd.Process.Pid:
		case ev.Name == "stap_system__start":
			commands = append(commands, fmt.Sprint(argument(t, &ev, "command")))
		case ev.Name == "stap_system__spawn" || ev.Name == "stap_system__complete":
			if children[argument(t, &ev, "child")]++; argument(t, &ev, "ret") != int64(0) {
				t.Errorf("%s: %v, want 0", ev.Name, ev.Args)
			}
		case strings.HasPrefix(ev.Name, "pass"):
			sessions[argument(t, &ev, "session")] = true
		}
	}
	if len(sessions) != 1 || len(children) != len(commands) || len(commands) == 0 || !strings.HasPrefix(commands[len(commands)-1], " rm -rf ") {
		t.Errorf("sessions %v, children %v, commands %q: want one session, a child for each command, rm -rf at the end", sessions, children, commands)
	}
	for child, n := range children {
		if n != 2 {
			t.Errorf("child %v has %d events, want spawn and complete", child, n)
		}
	}
}
