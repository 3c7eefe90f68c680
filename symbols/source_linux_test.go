package symbols_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// statements returns the addresses of each line of the file in the program, and the file's path.
func statements(t *testing.T, program, file string) (map[int][]uint64, string) {
	t.Helper()
	c := symbols.OpenCode(program, true)
	defer c.Close()
	found, _, err := c.Sources(func(path string) bool { return filepath.Base(path) == file }, func(int) bool { return true })
	if err != nil || len(found) > 1 {
		t.Fatalf("%d files %s in %s, error %v", len(found), file, program, err)
	}
	out, path := map[int][]uint64{}, ""
	for _, source := range found {
		path = source.Path
		for _, s := range source.Statements {
			if !slices.Contains(out[s.Line], s.Address) {
				out[s.Line] = append(out[s.Line], s.Address)
			}
			if s.Func == "" || !slices.Contains(source.Lines, s.Line) {
				t.Errorf("%s: line %d is in the function %q, and lines are %d", program, s.Line, s.Func, source.Lines)
			}
		}
	}
	return out, path
}

// breakpoints returns where gdb sets breakpoints for the lines of the file.
func breakpoints(t *testing.T, program, file string) (at map[int][]uint64, lines map[int][]int) {
	t.Helper()
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/lines.gdb.py", program)
	cmd.Env = append(os.Environ(), "FILE="+file, "LAST=80", "DEBUGINFOD_URLS=")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	at, lines = map[int][]uint64{}, map[int][]int{}
	for text := range strings.Lines(string(text)) {
		words := strings.Fields(text)
		if len(words) < 2 || words[0] != "at" {
			continue
		}
		var line int
		fmt.Sscan(words[1], &line)
		for _, word := range words[2:] {
			var addr uint64
			var of int
			fmt.Sscanf(word, "%d:%d", &addr, &of)
			at[line], lines[line] = append(at[line], addr), append(lines[line], of)
		}
		slices.Sort(at[line])
	}
	return at, lines
}

// TestSources compares the addresses of lines with those at which gdb sets breakpoints: for
// compilers, formats, and places of debugging information.
func TestSources(t *testing.T) {
	needs.Tools(t, "gdb", "dwz", "objcopy", "rustc", "go")
	moved := func(how ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			for _, command := range how {
				needs.Run(t, "sh", "-c", strings.ReplaceAll(command, "PROGRAM", path))
			}
		}
	}
	for _, test := range []struct {
		source, command string
		files           string
		then            func(t *testing.T, path string)
		cold            []int // lines of parts below their functions, which gdb takes for prologues
	}{
		{source: "lines.c", command: "gcc -g -O0", files: "lines.c lines.h"},
		{source: "lines.c", command: "gcc -g -O2", files: "lines.c"},
		{source: "lines.c", command: "clang -g -O0", files: "lines.c lines.h"},
		{source: "lines.c", command: "clang -g -O2", files: "lines.c lines.h"},
		{source: "lines.c", command: "gcc -gdwarf-3 -O0", files: "lines.c"},
		{source: "lines.c", command: "clang -gdwarf-4 -O0 -gsplit-dwarf", files: "lines.c"},
		{source: "lines.c", command: "gcc -g -O2 -gsplit-dwarf", files: "lines.c"},
		{source: "lines.c", command: "gcc -g -O2", files: "lines.c", then: moved(
			"objcopy --only-keep-debug --compress-debug-sections PROGRAM PROGRAM.debug",
			"objcopy --strip-debug --add-gnu-debuglink=PROGRAM.debug PROGRAM")},
		{source: "lines.c", command: "gcc -g -O2", files: "lines.c", then: moved("cp PROGRAM PROGRAM.2", "dwz -m PROGRAM.common PROGRAM PROGRAM.2")},
		{source: "shop.cc", command: "g++ -g -O2", files: "shop.cc", cold: []int{41, 60}},
		{source: "shop.rs", command: "rustc -g -C opt-level=2", files: "shop.rs"},
		{source: "deepgo/main.go", command: "go build", files: "main.go generic.go"},
		{source: "deepgo/main.go", command: "go build -gcflags=-N", files: "main.go generic.go"},
	} {
		name := test.source + " " + test.command
		if test.then != nil {
			name += " moved"
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "program")
			source, err := filepath.Abs("testdata/" + test.source)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(path) // where clang puts a .dwo
			if strings.HasPrefix(test.command, "go ") {
				dir, source = filepath.Dir(source), "."
			}
			words := append(strings.Fields(test.command), "-o", path, source)
			needs.Tools(t, words[0])
			compile := exec.Command(words[0], words[1:]...)
			compile.Dir = dir
			if msg, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", compile, err, msg)
			}
			if test.then != nil {
				test.then(t, path)
			}
			for file := range strings.FieldsSeq(test.files) {
				got, full := statements(t, path, file)
				want, lines := breakpoints(t, path, file)
				if len(want) == 0 {
					t.Fatalf("gdb sets no breakpoints in %s", file)
				}
				for line, addrs := range want {
					slices.Sort(got[line])
					switch exact := slices.Contains(lines[line], line); {
					case slices.Contains(test.cold, line) && len(got[line]) == 1:
					case got[line] == nil && exact:
						t.Errorf("%s:%d: nothing, want %#x", full, line, addrs)
					case got[line] != nil && !slices.Equal(got[line], addrs) && !(!exact && slices.Contains(got[line], addrs[0])):
						t.Errorf("%s:%d: at %#x, want %#x", full, line, got[line], addrs)
					}
				}
				if n := len(got); n < 3 && n < len(want)/3 {
					t.Errorf("%s has code of lines %d alone", file, slices.Sorted(maps.Keys(got)))
				}
			}
		})
	}
}

// TestInlined checks where a function is that has no code of its own.
func TestInlined(t *testing.T) {
	for _, flags := range []string{"gcc -g -O2", "clang -g -O0"} {
		c := symbols.OpenCode(needs.Compile(t, "testdata/lines.c", strings.Fields(flags)...), true)
		defer c.Close()
		found, err := c.Inlined(func(symbol, name string) bool { return name == "twice" })
		if err != nil || len(found) != 2 || found[0].Func != "twice" || found[0].Address >= found[1].Address || !found[0].Inlined {
			t.Errorf("%s: found %+v, error %v", flags, found, err)
		}
	}
}

// TestVariables checks where variables of an unoptimised function are, for both machines: TestVariables
// of sdttrace compares values with gdb's.
func TestVariables(t *testing.T) {
	const cross = " -g -O0 -nostdlib -fuse-ld=lld -Wl,--unresolved-symbols=ignore-all -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu"
	host := map[string]int{"amd64": 6, "arm64": 31}[runtime.GOARCH]
	for _, test := range []struct {
		command  string
		register int // of the frame; on arm64 also 29
	}{
		{"gcc -g -O0", host},
		{"clang -g -O0", host},
		{"clang --target=aarch64-linux-gnu" + cross, 31},
		{"clang --target=x86_64-linux-gnu" + cross, 6},
	} {
		path := needs.Compile(t, "testdata/lines.c", strings.Fields(test.command)...)
		at, _ := statements(t, path, "lines.c")
		c := symbols.OpenCode(path, true)
		defer c.Close()
		all, err := c.Variables(at[12][0])
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]symbols.Variable{}
		for _, v := range all {
			found[v.Name] = v
		}
		for _, name := range []string{"p", "n", "s", "i", "t", "p.x", "p.y"} {
			v, ok := found[name]
			member := strings.Contains(name, ".")
			if !ok || v.Err != nil || v.Register != test.register && v.Register != 29 || !v.Memory || v.Global || v.Length != "" ||
				v.Argument != (member || name == "p" || name == "n") || v.Follow != member || member && v.FollowOffset != int64(4*(name[2]-'x')) {
				t.Errorf("%s: %s is %+v", test.command, name, v)
			}
			if want := symbols.Signed; name != "p" && (v.Kind != want || v.Size != 4 || v.Type != "int" || v.Offset == 0) {
				t.Errorf("%s: %s is %+v, want an int", test.command, name, v)
			}
		}
		if v := found["p"]; v.Kind != symbols.Unsigned || v.Size != 8 {
			t.Errorf("%s: p is %+v, want an address", test.command, v)
		}
	}
}

// FuzzSources reads lines and inlined functions of any file.
func FuzzSources(f *testing.F) {
	f.Add(small(f))
	every := func(string) bool { return true }
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := symbols.OpenCode(path, false)
		defer c.Close()
		found, _, _ := c.Sources(every, func(int) bool { return true })
		for _, s := range found {
			if !slices.IsSorted(s.Lines) {
				t.Errorf("%s has the lines %d", s.Path, s.Lines)
			}
			for _, st := range s.Statements[:min(4, len(s.Statements))] {
				if all, _ := c.Variables(st.Address); len(all) > 512 {
					t.Errorf("%d variables at %#x", len(all), st.Address)
				}
			}
		}
		c.Inlined(func(string, string) bool { return true })
		for _, name := range []string{"int", "conn"} {
			if all, _, _, _ := c.Cast(0, symbols.Cast{Type: name, Name: "x", Pointer: true}); len(all) > 512 {
				t.Errorf("%d parts of %s", len(all), name)
			}
		}
	})
}

// TestSourcesHostile checks that reading the lines of damaged files takes work in proportion to
// their size.
func TestSourcesHostile(t *testing.T) {
	data := small(t)
	for at := 0; at < len(data); at += max(len(data)/60, 1) {
		other := bytes.Clone(data)
		for i := range min(8, len(other)-at) {
			other[at+i] ^= 0xff
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, other, 0o600); err != nil {
			t.Fatal(err)
		}
		within(t, func() {
			c := symbols.OpenCode(path, true)
			defer c.Close()
			found, _, _ := c.Sources(func(string) bool { return true }, func(int) bool { return true })
			for _, s := range found {
				for _, st := range s.Statements {
					c.Variables(st.Address)
				}
			}
			c.Inlined(func(string, string) bool { return true })
			c.Cast(0, symbols.Cast{Type: "nothing", Name: "x", Pointer: true})
			c.Cast(0, symbols.Cast{Type: "int", Name: "x"})
		})
	}
}
