package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/witness"
)

// TestCasts checks what is at the addresses that probes and functions pass, by types that --args
// gives them, whose values the program fixes.
func TestCasts(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc", "clang", "objcopy")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	const all = `conn.fd=3 conn.port=443 conn.name="first" conn.own.id=6 conn.own.host="near" conn.load=2.5 conn.mode=ON conn.last=true conn.tag="12345678" conn.codes=[7,-8,9] conn.either.half=3`
	// The first program has each cast, and the others, whose debugging information differs, two each.
	for program, test := range []struct{ command, then string }{
		{"gcc -g -O2", ""},
		{"gcc -g -O0", ""},
		{"clang -g -O2", ""},
		{"clang -gdwarf-4 -O0", ""},
		{"gcc -g -O2 -gsplit-dwarf", ""},
		{"gcc -g -O2 -static", ""},
		{"gcc -g -O2", "objcopy --only-keep-debug --compress-debug-sections PROGRAM PROGRAM.debug && objcopy --strip-debug --add-gnu-debuglink=PROGRAM.debug PROGRAM"},
	} {
		path := needs.Compile(t, "testdata/typed/casts.c", strings.Fields(test.command)...)
		if test.then != "" {
			needs.Run(t, "sh", "-c", strings.ReplaceAll(test.then, "PROGRAM", path))
		}
		probe, entry := path+":casts:use", "uprobe:"+path+":use"
		for i, each := range []struct{ args, want string }{
			{"--args 'arg0:struct conn*' " + probe, all},
			{"--args 'data:struct conn *c,c.port' " + entry, "c.port=443"},
			{"--args 'arg0:conn*' " + entry, all},
			{"--args 'retval:struct conn*' uret" + entry[1:], all},
			{"--args 'arg0:const struct conn *c,c.own.host,c.port' " + probe, `c.own.host="near" c.port=443`},
			{"--args 'arg0:struct conn*' --where 'conn.port == 444 && conn.name == \"later\"' " + probe, `conn.port=444 conn.name="later"`},
			{"--args 'arg1:Pair*' " + probe, "Pair.a=8 Pair.b=-9"},
			{"--args 'arg1:Pair*,arg0:struct conn*,conn.fd' " + probe, "Pair.a=8 Pair.b=-9 conn.fd=3"},
			{"--args 'arg2:enum mode how' " + probe, "how=ON"},
			{"--args 'arg0:struct conn*' --where 'conn.mode == \"ON\" && conn.port > 444' " + probe, "conn.port=445 conn.mode=ON"},
			{"--args 'arg0:struct conn*,conn.raw' --where 'conn.tag == \"123\" && conn.codes[1] == -8 && conn.either.half == 3' " + probe, "conn.raw=[1,2,255,0]"},
			{"--args 'arg0:struct conn*' --fields conn.port " + probe, "conn.port=443"},
		} {
			if program > 0 && i%6 != program-1 {
				continue
			}
			cmd := exec.Command("sh", "-c", sdttrace+" -q --fields args "+each.args+" -- "+path)
			if strings.Contains(each.args, "--fields") {
				cmd = exec.Command("sh", "-c", sdttrace+" -q "+each.args+" -- "+path)
			}
			out, err := cmd.Output()
			first, _, _ := strings.Cut(joined(string(out)), "\n")
			for word := range strings.FieldsSeq(each.want) {
				if !strings.Contains(" "+first+" ", " "+word+" ") || err != nil {
					t.Errorf("%s: sdttrace %s: error %v, want %s:\n%s", test.command, each.args, err, word, first)
					break
				}
			}
		}
		if program > 0 {
			continue
		}
		modes, err := exec.Command(sdttrace, "count", "-q", "--args", "arg0:struct conn*", "--by", "conn.mode", probe, "--", path).Output()
		if err != nil || !strings.Contains(string(modes), "3  ON") {
			t.Errorf("%s: error %v, want 3 of ON:\n%s", test.command, err, modes)
		}
		out, err := exec.Command(sdttrace, "count", "-q", "--args", "arg0:struct conn*", "--by", "conn.port", "--by", "conn.name", probe, "--", path).Output()
		for _, want := range []string{`1  443        "first"`, `1  444        "later"`, `1  445        "later"`} {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: error %v, want %s:\n%s", test.command, err, want, out)
			}
		}
	}
}

// TestCastsOfLanguages casts arguments of functions of C++, Go and Rust.
func TestCastsOfLanguages(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "g++", "go", "rustc")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	for _, test := range []struct{ command, source, function, args, want string }{
		{"go build", "types.go", "main.(*shop).sell", "arg1:*main.request", `request.path="/index" request.own.port=80 request.own.load=2.5 request.last=true`},
		{"go build", "types.go", "main.(*shop).sell", "arg0:*shop me,me.name", `me.name="corner"`},
		{"g++ -g -O2", "types.cc", "Shop::sell", "arg0:class Shop*", "Shop.id=42"},
		{"rustc -g", "types.rs", "structs", "r:&Request,Request.own.port,Request.path", `Request.own.port=80 Request.path="/index"`},
	} {
		path := filepath.Join(t.TempDir(), "p")
		words := append(strings.Fields(test.command), "-o", path, "testdata/typed/"+test.source)
		needs.Run(t, words[0], words[1:]...)
		cmd := exec.Command(sdttrace, "-q", "--fields", "args", "--args", test.args, "uprobe:"+path+":"+test.function, "--", path)
		out, err := cmd.Output()
		first, _, _ := strings.Cut(joined(string(out)), "\n")
		for word := range strings.FieldsSeq(test.want) {
			if !strings.Contains(" "+first+" ", " "+word+" ") || err != nil {
				t.Errorf("%v: error %v, want %s:\n%s", cmd, err, word, out)
			}
		}
	}
}

// TestCastErrors checks what is said of casts that cannot be, before anything is traced.
func TestCastErrors(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	path := needs.Compile(t, "testdata/typed/casts.c", "gcc", "-g", "-O2")
	bare := needs.Compile(t, "testdata/typed/casts.c", "gcc", "-O2")
	for _, test := range []struct{ args, selector, want string }{
		{"arg0:struct con*", path + ":casts:use", "no such type in " + path + "; the nearest is conn"},
		{"arg0:struct mode*", path + ":casts:use", "no such type"},
		{"arg0:struct conn*", bare + ":casts:use", "no debugging information"},
		{"arg7:struct conn*", path + ":casts:use", "no such argument arg7"},
		{"dat:struct conn*", "uprobe:" + path + ":use", "no such argument dat; the nearest is data"},
		{"arg0:struct conn*,conn.prt", path + ":casts:use", "the nearest is conn.port"},
		{"arg0:struct conn**", path + ":casts:use", "a pointer to a pointer"},
		{"arg0:struct conn", path + ":casts:use", "unknown type"},
		{"arg0:enum nothing", path + ":casts:use", "no such type"},
		{"arg0:struct conn*,arg1:struct conn*", path + ":casts:use", "both called conn"},
		{"arg0:struct conn*", "kprobe:vfs_read", "those of the kernel have theirs"},
	} {
		out, err := exec.Command(sdttrace, "--args", test.args, test.selector, "--", path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), test.want) || strings.Contains(string(out), "attached") {
			t.Errorf("--args %s %s: error %v, want %q:\n%s", test.args, test.selector, err, test.want, out)
		}
	}
	out, err := exec.Command(sdttrace, "--args", "arg0:struct conn*", "--where", "conn.prt == 1", path+":casts:use", "--", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "conn.prt") {
		t.Errorf("error %v:\n%s", err, out)
	}
}

// TestCountReadsNoTypes checks that debugging information in a file of its own is not opened unless
// somebody asks for what it has.
func TestCountReadsNoTypes(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc", "objcopy")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	path := needs.Compile(t, "testdata/typed/casts.c", "gcc", "-g", "-O2")
	needs.Run(t, "sh", "-c", strings.ReplaceAll("objcopy --only-keep-debug PROGRAM PROGRAM.debug && objcopy --strip-debug --add-gnu-debuglink=PROGRAM.debug PROGRAM", "PROGRAM", path))
	for _, test := range []struct {
		args  []string
		opens bool
	}{
		{[]string{"count", "uprobe:" + path + ":use"}, false},
		{[]string{"count", path + ":casts:use"}, false},
		{[]string{"print", path + ":casts:use"}, false},
		{[]string{"print", "--args", "arg0:struct conn*", path + ":casts:use"}, true},
	} {
		w := witness.Watch(t, path+".debug")
		if out, err := exec.Command(sdttrace, append(test.args, "--", path)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", test.args, err, out)
		}
		if opened := w.Opened(); (len(opened) > 0) != test.opens {
			t.Errorf("sdttrace %s opens %v", strings.Join(test.args, " "), opened)
		}
	}
}

// joined makes lists one word each: [1,2] of [1 2].
func joined(text string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		switch r {
		case '[':
			inside = true
		case ']', '\n':
			inside = false
		case ' ':
			if inside {
				return ','
			}
		}
		return r
	}, text)
}
