package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestVariables compares the variables at lines with gdb's, by compilers that optimise and by some
// that do not: what gdb has a value of has the same one here, or an error that says why not.
func TestVariables(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gdb", "gcc", "clang")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	names := "req.path,req.own.port,req.own.load,req.last,req.mode,n,i,sum,f,total,small"
	for _, test := range []struct {
		command, line string
		known         string // which must have values
	}{
		{"gcc -g -O0", "17", names},
		{"clang -g -O0", "20", "req.path,req.own.port,req.own.load,req.last,req.mode,n,sum,f,total"},
		{"gcc -g -O0 -gsplit-dwarf", "16", names},
		{"gcc -gdwarf-4 -O2", "17", "req.path,req.own.port,req.own.load,req.last,req.mode,sum,total"},
		{"gcc -gdwarf-4 -O2 -gsplit-dwarf", "17", "req.path,req.own.port,req.own.load,req.last,req.mode,sum,total"},
		{"clang -gdwarf-4 -O2 -gsplit-dwarf", "19", "req.path,req.own.port,req.mode,total"},
		{"gcc -g -O2", "19", "sum,total"},
		{"clang -g -O2", "19", "req.path,req.own.port,req.mode,total"},
	} {
		t.Run(test.command+" "+test.line, func(t *testing.T) {
			source, err := filepath.Abs("testdata/variables.c")
			if err != nil {
				t.Fatal(err)
			}
			script, err := filepath.Abs("testdata/variables.gdb.py")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			run := func(env []string, name string, args ...string) (all []map[string]any) {
				t.Helper()
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				for line := range strings.Lines(string(out)) {
					var object map[string]any
					if json.Unmarshal([]byte(strings.TrimPrefix(line, "AT ")), &object) == nil {
						all = append(all, object)
					}
				}
				return all
			}
			words := append(strings.Fields(test.command), "-o", "v", source)
			run(nil, words[0], words[1:]...)
			at := "variables.c:" + test.line
			want := run([]string{"AT=" + at, "NAMES=" + names, "DEBUGINFOD_URLS="}, "gdb", "-nx", "-batch", "-x", script, "./v")
			var inScope []string
			for name := range strings.SplitSeq(names, ",") {
				if slices.ContainsFunc(want, func(stop map[string]any) bool { return stop[name] != "none" }) {
					inScope = append(inScope, name)
					continue
				}
				cmd := exec.Command(sdttrace, "--args", name, "uprobe:./v:"+at, "--", "./v")
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if said := "no variable " + name + " is in scope here"; err == nil || !strings.Contains(string(out), said) {
					t.Errorf("%v: error %v, and it does not say %q:\n%s", cmd, err, said, out)
				}
			}
			got := run(nil, sdttrace, "-q", "--json", "--args", strings.Join(inScope, ","), "uprobe:./v:"+at, "--", "./v")
			if len(got) == 0 || len(got) != len(want) {
				t.Fatalf("%d events, and gdb stops %d times", len(got), len(want))
			}
			for i := range got {
				args, errs := got[i]["args"].(map[string]any), got[i]["errors"]
				for name, value := range want[i] {
					if !slices.Contains(inScope, name) {
						continue
					}
					why, failed := "", false
					if errs != nil {
						why, failed = errs.(map[string]any)[name].(string)
					}
					switch {
					case !failed && !reflect.DeepEqual(args[name], value):
						t.Errorf("event %d: %s is %v, want %v", i, name, args[name], value)
					case failed && value != "none" && strings.Contains(why, "no variable"):
						t.Errorf("event %d: %s has %q, want %v", i, name, why, value)
					case failed && strings.Contains(","+test.known+",", ","+name+","):
						t.Errorf("event %d: %s has no value: %s", i, name, why)
					}
				}
			}
		})
	}
}

// TestVariablesOfGoAndRust checks variables whose values the programs fix: text, numbers and
// members of structures.
func TestVariablesOfGoAndRust(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "go", "rustc")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	const all = "r.path=\"/index\" r.own.port=80 r.own.load=2.5 r.last=true name=\"first\" n=3"
	for _, test := range []struct{ command, at, want string }{
		{"go build", "variables.go:28", all},
		{"go build -gcflags=-N", "variables.go:32", all + " sum=244 main.total=587"},
		{"go build -gcflags=-l", "variables.go:29", "r.path=\"/index\" r.own.port=80 n=3 sum=0"},
		{"rustc -g", "variables.rs:19", all + " sum=244"},
		{"rustc -g -O", "variables.rs:14", "r.path=\"/index\" r.own.port=80 r.last=true"},
	} {
		path := filepath.Join(t.TempDir(), "v")
		file, _, _ := strings.Cut(test.at, ":")
		words := append(strings.Fields(test.command), "-o", path, "testdata/"+file)
		needs.Run(t, words[0], words[1:]...)
		var names []string
		for word := range strings.FieldsSeq(test.want) {
			name, _, _ := strings.Cut(word, "=")
			names = append(names, name)
		}
		args := []string{"-q", "--fields", "args", "--args", strings.Join(names, ","), "uprobe:" + path + ":" + test.at, "--", path}
		cmd := exec.Command(sdttrace, args...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %v\n%s", cmd, err, out)
		}
		if line, _, _ := strings.Cut(string(out), "\n"); line != test.want {
			t.Errorf("%s: %s is\n%s, want\n%s", test.command, test.at, line, test.want)
		}
	}
}
