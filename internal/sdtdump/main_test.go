package sdtdump

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

func TestMain(m *testing.M) {
	testscript.Main(leftover.Tests{M: m}, map[string]func(){
		"sdtdump": func() { os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr)) },
		"service": service,
		"measure": measure,
	})
}

// names has arguments whose names are too long for the kernel, or equal after
// cutting.
type names struct {
	Text   string `usdt:"arg1"` // its length is argument 1
	First  int    `usdt:"a_name_that_is_longer_than_the_kernel_takes_1"`
	Second int    `usdt:"a_name_that_is_longer_than_the_kernel_takes_2"`
}

// service is a program with typed probes. It reports when they are loaded, fires one
// for every line of its input, which it answers, and ends with the input.
func service() {
	p := provider.New("sdtdump_service", nil)
	tick := provider.NewProbe3[uint64, string, float64](p, "tick", "seq", "msg", "load")
	provider.NewProbe0(p, "idle")
	provider.NewStructProbe[names](p, "names")
	if err := p.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tick.Fire(1, "once", 0.5)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		tick.Fire(2, in.Text(), 0.5)
		fmt.Println("fired")
	}
	p.Close()
}

func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

func TestCScripts(t *testing.T) {
	needs.C(t)
	scripts(t, "testdata/script/c")
}

func scripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"truncate": truncate,
			"capture":  capture,
		},
	})
}

// truncate FILE breaks the last note of FILE: its length becomes larger than
// the section.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: truncate FILE")
	}
	path := ts.MkAbs(args[0])
	if err := breakNotes(path); err != nil {
		ts.Fatalf("%v", err)
	}
}

// capture VAR FILE sets the environment variable VAR to the contents of FILE.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VAR FILE")
	}
	data, err := os.ReadFile(ts.MkAbs(filepath.Clean(args[1])))
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Setenv(args[0], string(data))
}
