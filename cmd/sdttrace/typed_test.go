package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// typedFunctions are functions of testdata/typed, with what their arguments and results are. A
// number with a fraction is in a register that no program can read.
var typedFunctions = map[string][]struct{ function, args, results, behind string }{
	"types.c": {
		{"numbers", "a=-1 b=200 c=-300 d=60000 e=-70000 f=4000000000 g=-5000000000 h=6000000000", "retval=-301", ""},
		{"flags", `yes=true mode=ON name="hello" after=11`, "retval=false", ""},
		{"small", "p.first=1 p.second=-2 m.id=33 t.len=4 last=5", "retval.first=-2 retval.second=1", ""},
		{"large", "l.a=1 l.b=2 l.c=3 n=4", "retval.a=7 retval.b=2 retval.c=1", ""},
		{"named", `n=9 req.path="/index"`, `retval.data="/index" retval.len=9`, "req.own.port=80 req.last=true req.mode=ON"},
		{"turn", "n=8", "retval=ON", ""},
		{"half", "x=3", "", ""},
		{"inner", "n=5", "retval=-3", "a.tag=1 a.number=2 a.low=-3 a.high=4"},
	},
	"types.cc": {
		{"Shop::sell", "color=Blue gift=true", "retval=-8", "at.x=3 at.y=-4"},
		{"Shop::open", "n=7", "retval=42", ""},
		{"Shop::label", `name.text="tag" name.n=1 n=-5`, `retval.text="tag" retval.n=-5`, ""},
		{"deep::twice<int>", "value=21", "retval=42", ""},
		{"Derived::inherit", "", "retval=4", "other.kept=1 other.second=3 other.hidden=4 other.a=5"},
	},
	"strings.cc": {
		{"serve", "", "retval=3", `req.id=3 req.name="a-name-that-is-too-long-to-be-kept-inside" req.path="/x" peer="short"`},
	},
	"types.go": {
		{"main.numbers", "a=-1 b=200 c=-300 d=60000 e=-70000 f=4000000000 g=-5000000000 h=6000000000 i=9 j=true k=77", "retval=-301", ""},
		{"main.texts", `s="hello" b=[98,121,116,101,115] b.cap=5 n=3 list=[1,2] list.cap=2`, `name="ello"`, ""},
		{"main.structs", "c.port=443 arr=[5,6] v=int e=nil", `retval.0=-8 retval.1="ok" retval.2=true`, ""},
		{"main.(*shop).sell", `n=3 s.name="corner" r.path="/index"`, "total=126", "s.id=42 r.own.port=80 r.own.load=2.5"},
		{"main.shop.close", `s.id=42 s.name="corner" last=true`, "retval=nil", ""},
		{"main.largest*", "a=-3 b=4", "retval=4", ""},
		{"main.pointed", `name="/pointed"`, "retval=15", ""},
		{"main.levels", "l=High n=2", "retval=Low", ""},
		{"main.deferred", `n=4 name="late"`, `retval.0="late" retval.1=*errors.errorString retval.1.text="closed"`, ""},
		{"main.fails", "err=*main.refused none=nil what=main.conn nothing=nil in=nil", "retval.0=nil retval.1=*main.refused", "none.tab=0x0"},
	},
	"types.rs": {
		{"numbers", "a=-1 b=200 c=-300 d=60000 e=-70000 f=4000000000 g=-5000000000 h=6000000000", "retval=-301", ""},
		{"texts", `name="hello" list=[98,121,116,101,115] yes=true mode=On after=9`, `retval="result"`, ""},
		{"structs", `c.port=443 p.a=1 p.b=2 n=-9 r.path="/index"`, "retval.a=2 retval.b=1", "r.own.port=80 r.own.load=2.5 r.last=true"},
	},
}

// TestTypedFunctions checks the arguments and results of functions, by names and types of debugging
// information, whose values the programs fix.
func TestTypedFunctions(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc", "clang", "go", "rustc", "objcopy")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for _, test := range []struct{ source, command, then string }{
		{"types.c", "gcc -g -O0", ""},
		{"types.c", "gcc -g -O2", ""},
		{"types.c", "clang -g -O0", ""},
		{"types.c", "clang -gdwarf-4 -O2", ""},
		{"types.c", "gcc -g -O2 -gsplit-dwarf", ""},
		{"types.c", "gcc -g -O0", "objcopy --only-keep-debug --compress-debug-sections PROGRAM PROGRAM.debug && objcopy --strip-debug --add-gnu-debuglink=PROGRAM.debug PROGRAM"},
		{"types.cc", "g++ -g -O0", ""},
		{"types.cc", "g++ -g -O2", ""},
		{"types.cc", "clang++ -g -O0", ""},
		{"types.cc", "clang++ -gdwarf-4 -O0", ""},
		{"types.cc", "clang++ -g -O2", ""},
		{"strings.cc", "g++ -g -O0", ""},
		{"strings.cc", "g++ -g -O2", ""},
		{"types.go", "go build", ""},
		{"types.go", "go build -gcflags=-N", ""},
		{"types.rs", "rustc -g", ""},
		{"types.rs", "rustc -g -O", ""},
	} {
		t.Run(test.command+" "+test.then[:min(7, len(test.then))], func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p")
			source, err := filepath.Abs("testdata/typed/" + test.source)
			if err != nil {
				t.Fatal(err)
			}
			words := append(strings.Fields(test.command), "-o", path, source)
			compile := exec.Command(words[0], words[1:]...)
			compile.Dir = filepath.Dir(path)
			if strings.HasPrefix(test.command, "go ") {
				compile.Dir = "testdata"
			}
			if msg, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", compile, err, msg)
			}
			if test.then != "" {
				needs.Run(t, "sh", "-c", strings.ReplaceAll(test.then, "PROGRAM", path))
			}
			var selectors []string
			for _, fn := range typedFunctions[test.source] {
				selectors = append(selectors, "uprobe:"+path+":"+fn.function, "uretprobe:"+path+":"+fn.function)
			}
			shown := linesOf(t, sdttrace, append(append([]string{"-q", "--fields", "probe,args"}, selectors...), "--", path)...)
			for i, fn := range typedFunctions[test.source] {
				gone := strings.Contains(test.command, "clang") && strings.Contains(test.command, "-O2") // unless a function uses them
				has(t, shown, "uprobe:p:", fn.function, fn.args, gone)
				has(t, shown, "uretprobe:p:", fn.function, fn.results, false)
				if fn.behind != "" {
					var names []string
					for word := range strings.FieldsSeq(fn.behind) {
						name, _, _ := strings.Cut(word, "=")
						names = append(names, name)
					}
					got := linesOf(t, sdttrace, "-q", "--fields", "args", "--args", strings.Join(names, ","), selectors[2*i], "--", path)
					if len(got) == 0 || got[0] != fn.behind {
						t.Errorf("%s shows %q, want %s", fn.function, got, fn.behind)
					}
				}
			}
		})
	}
}

// linesOf runs sdttrace and returns the lines that it prints.
func linesOf(t *testing.T, sdttrace string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(sdttrace, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
	return strings.Split(joined(string(out)), "\n")
}

// has checks that the line of a function has words. With gone, arguments may be optimised out.
func has(t *testing.T, lines []string, kind, function, want string, gone bool) {
	t.Helper()
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line, kind)
		if !ok || !strings.Contains(rest, strings.TrimSuffix(function, "*")) {
			continue
		}
		for word := range strings.FieldsSeq(want) {
			name, _, _ := strings.Cut(word, "=")
			out := gone && strings.Contains(rest, " "+name+"=?(optimised out here)")
			if !strings.Contains(rest+" ", " "+word+" ") && !out {
				t.Errorf("%s%s shows %s, want %s", kind, function, rest, word)
			}
		}
		return
	}
	if want != "" {
		t.Errorf("%s%s is not shown", kind, function)
	}
}

// TestTypedFunctionsByGDB compares arguments and results of functions with gdb's.
func TestTypedFunctionsByGDB(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gdb", "gcc", "g++")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	script, err := filepath.Abs("testdata/returns.gdb.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ source, command string }{
		{"types.c", "gcc -g -O0"}, {"types.c", "gcc -g -O2"}, {"types.cc", "g++ -g -O0"}, {"types.cc", "g++ -g -O2"},
	} {
		t.Run(test.command, func(t *testing.T) {
			path := needs.Compile(t, "testdata/typed/"+test.source, strings.Fields(test.command)...)
			for _, fn := range typedFunctions[test.source] {
				var names []string
				for word := range strings.FieldsSeq(fn.args + " " + fn.behind) {
					name, _, _ := strings.Cut(word, "=")
					names = append(names, name)
				}
				gdb := exec.Command("gdb", "-nx", "-batch", "-x", script, path)
				gdb.Env = append(os.Environ(), "AT="+fn.function, "NAMES="+strings.Join(names, ","), "DEBUGINFOD_URLS=")
				out, err := gdb.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", gdb, err, out)
				}
				want := map[string]any{}
				for line := range strings.Lines(string(out)) {
					if text, ok := strings.CutPrefix(line, "AT "); ok {
						var object map[string]any
						if err := json.Unmarshal([]byte(text), &object); err != nil {
							t.Fatal(err)
						}
						flatten(want, "", object)
					}
				}
				cmd := exec.Command(sdttrace, "-q", "--json", "--args", strings.Join(names, ",")+",retval", "uprobe:"+path+":"+fn.function, "uretprobe:"+path+":"+fn.function, "--", path)
				if out, err = cmd.Output(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				got := map[string]any{}
				for line := range strings.Lines(string(out)) {
					var event struct {
						Args   map[string]any
						Errors map[string]string
					}
					if json.Unmarshal([]byte(line), &event) != nil {
						continue
					}
					flatten(got, "", event.Args)
					for name, why := range event.Errors {
						if got[name] = why; !strings.Contains(why, "vector register") {
							t.Errorf("%s: %s has no value: %s", fn.function, name, why)
						}
					}
				}
				if len(want) < len(names)+1 {
					t.Errorf("%s: gdb has %v, want %s and the result", fn.function, want, names)
				}
				for name, value := range want {
					if value == nil { // gdb calls it optimised out
						continue
					}
					if why, ok := got[name].(string); ok && strings.Contains(why, "vector register") {
						continue
					}
					if !reflect.DeepEqual(got[name], value) {
						t.Errorf("%s: %s is %v, and gdb has %v", fn.function, name, got[name], value)
					}
				}
			}
		})
	}
}

// flatten puts members of structures beside the others, as NAME.MEMBER.
func flatten(all map[string]any, prefix string, object map[string]any) {
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			flatten(all, prefix+name+".", inner)
		} else {
			all[prefix+name] = value
		}
	}
}
