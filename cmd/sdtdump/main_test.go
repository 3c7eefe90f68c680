package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sdtdump": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			if cond == "sdt" {
				return haveSDT(t), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"truncate": truncate,
			"capture":  capture,
		},
	})
}

// haveSDT reports whether C programs with probes can be compiled, which they
// must be in CI.
func haveSDT(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("gcc")
	if err == nil {
		_, err = os.Stat("/usr/include/x86_64-linux-gnu/sys/sdt.h")
		if err != nil {
			_, err = os.Stat("/usr/include/sys/sdt.h")
		}
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("gcc and sys/sdt.h (systemtap-sdt-dev) must be installed in CI: %v", err)
	}
	return err == nil
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

// capture VAR FILE sets the environment variable VAR to what FILE holds.
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
