package prototype_test

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
)

// TestKnownFiles reads all files, and checks that each is named for the provider of its
// probes.
func TestKnownFiles(t *testing.T) {
	for _, provider := range prototype.Providers() {
		table, err := prototype.ReadFile("known/" + provider + ".probes")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range table.Prototypes() {
			if p.Provider != provider {
				t.Errorf("%s:%d: a probe of %s is in the file of %s", p.File, p.Line, p.Provider, provider)
			}
			if got := prototype.Known().Of(p.Provider, p.Name); len(got) == 0 {
				t.Errorf("%s:%d: Known has no %s:%s", p.File, p.Line, p.Provider, p.Name)
			}
		}
	}
}

// TestSilent reads why probes may not fire, in the files that come with the package and in others.
func TestSilent(t *testing.T) {
	mine, err := prototype.Parse("mine", []byte("silent hotspot:gc__* not in mine (no, never)\nsilent hotspot:method__entry mine\nmine:a(int x)\nsilent mine:b-c a dash\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table          *prototype.Table
		provider, name string
		want           string
	}{
		{prototype.Known(), "hotspot", "method__entry", "java fires it only with -XX:+DTraceMethodProbes or -XX:+ExtendedDTraceProbes"},
		{prototype.Known(), "hotspot", "method__compile__begin", ""},
		{prototype.Known(), "perl", "loaded__file", "perl fires it only while perl:sub__entry is traced as well"},
		{prototype.Known(), "nobody", "knows", ""},
		{prototype.Known().With(mine), "hotspot", "method__entry", "mine"},
		{prototype.Known().With(mine), "hotspot", "gc__begin", "not in mine (no, never)"},
		{prototype.Known().With(mine), "hotspot", "monitor__wait", "java fires it only with -XX:+DTraceMonitorProbes or -XX:+ExtendedDTraceProbes"},
		{mine, "mine", "b-c", "a dash"},
		{nil, "hotspot", "method__entry", ""},
	} {
		if got := c.table.Silent(c.provider, c.name); got != c.want {
			t.Errorf("%s:%s: %q, want %q", c.provider, c.name, got, c.want)
		}
	}
	const entry = "CPython 3.11 fires it for calls only while python:line is traced as well; python:function__return fires for each call without that, and for each yield"
	const line = "CPython 3.11 does not fire it where a function begins on the line of its def: one on a single line has no event; python:function__return fires for each call"
	for _, c := range []struct{ file, name, want string }{
		{"/usr/bin/python3.11", "function__entry", entry},
		{"/usr/lib/libpython3.11.so.1.0", "function__entry", entry},
		{"/usr/bin/python3.12", "function__entry", ""},
		{"/usr/bin/python3.11", "function__return", ""},
		{"/usr/bin/python3.11", "line", line},
		{"/usr/bin/python3.12", "line", ""},
	} {
		if got := prototype.Known().Note(c.file, "python", c.name); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.file, c.name, got, c.want)
		}
	}
	if got := prototype.Known().Silent("python", "line"); got != "" {
		t.Errorf("a note of some files is taken for all: %q", got)
	}
	for _, wrong := range []string{"note a a:b", "note [ a:b why", "silent\n", "silent a:b", "silent a b c", "silent a: why", "silent a:[ why"} {
		var syntax *prototype.SyntaxError
		if _, err := prototype.Parse("wrong", []byte("a:b()\n"+wrong)); !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestDanger reads which probes must not be traced at the same time.
func TestDanger(t *testing.T) {
	mine, err := prototype.Parse("mine", []byte("danger app* mine:b a it  ends\nmine:a(int x)\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table                *prototype.Table
		file, provider, name string
		with, why            string
	}{
		{prototype.Known(), "/usr/lib/libruby-3.1.so.3.1.2", "ruby", "cmethod__return", "cmethod__entry", "Ruby 3.1 crashes"},
		{prototype.Known(), "/usr/lib/libruby-3.3.so.3.3.1", "ruby", "cmethod__return", "", ""},
		{prototype.Known().With(mine), "/srv/app1", "mine", "b", "a", "it ends"},
		{mine, "/srv/app1", "mine", "a", "", ""},
		{nil, "x", "mine", "b", "", ""},
	} {
		if with, why := c.table.Danger(c.file, c.provider, c.name); with != c.with || why != c.why {
			t.Errorf("%s:%s in %s: %q, %q, want %q, %q", c.provider, c.name, c.file, with, why, c.with, c.why)
		}
	}
	for _, wrong := range []string{"danger\n", "danger f a:b c", "danger f ab c why", "danger [ a:b c why"} {
		var syntax *prototype.SyntaxError
		if _, err := prototype.Parse("wrong", []byte("a:b()\n"+wrong)); !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// checkNamed checks that all arguments of a probe have names, and that text is what the
// program passes as pointers.
func checkNamed(t *testing.T, where, provider, name, args string, machine notes.Machine, class notes.Class) {
	t.Helper()
	parsed := notes.ParseArgs(machine, class, args)
	p := prototype.Known().Lookup(provider, name, parsed, class)
	if p == nil {
		if len(parsed) > 0 {
			t.Errorf("%s: %s:%s(%s) has no prototype; known are %q", where, provider, name, args, linesOf(provider, name))
		}
		return
	}
	for i := range parsed {
		if i >= len(p.Params) || p.Params[i].Name == "" {
			t.Errorf("%s: %s:%s(%s) has no name for argument %d: %v", where, provider, name, args, i, p)
		}
	}
}

func linesOf(provider, name string) (lines []string) {
	for _, p := range prototype.Known().Of(provider, name) {
		lines = append(lines, p.String())
	}
	return lines
}

// TestDebian checks that each probe of Debian's packages, in versions of several
// releases, has names for its arguments.
func TestDebian(t *testing.T) {
	f, err := os.Open("testdata/debian.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pkg, probes := "", map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			pkg = line
			continue
		}
		probe, args, _ := strings.Cut(line, " ")
		provider, name, _ := strings.Cut(probe, ":")
		probes[probe] = true
		checkNamed(t, pkg, provider, name, args, notes.EM_X86_64, notes.ELFCLASS64)
	}
	if len(probes) < 650 {
		t.Errorf("got %d different probes, want those of all packages", len(probes))
	}
}

// architectures are those of internal/sdtdump/testdata/debian.
var architectures = map[string]struct {
	machine notes.Machine
	class   notes.Class
}{
	"amd64": {notes.EM_X86_64, notes.ELFCLASS64}, "arm64": {notes.EM_AARCH64, notes.ELFCLASS64},
	"armhf": {notes.EM_ARM, notes.ELFCLASS32}, "i386": {notes.EM_386, notes.ELFCLASS32},
	"mips64el": {notes.EM_MIPS, notes.ELFCLASS64}, "ppc64el": {notes.EM_PPC64, notes.ELFCLASS64},
	"riscv64": {notes.EM_RISCV, notes.ELFCLASS64}, "s390x": {notes.EM_S390, notes.ELFCLASS64},
}

// TestArchitectures checks the same for the packages of other architectures, whose
// compilers pass arguments in other forms.
func TestArchitectures(t *testing.T) {
	archives, err := filepath.Glob("../internal/sdtdump/testdata/debian/*.zip")
	if err != nil || len(archives) != len(architectures) {
		t.Fatalf("got %d archives, %v; want %d", len(archives), err, len(architectures))
	}
	for _, archive := range archives {
		arch := strings.TrimSuffix(filepath.Base(archive), ".zip")
		t.Run(arch, func(t *testing.T) {
			of, sites := architectures[arch], 0
			z, err := zip.OpenReader(archive)
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close()
			for _, f := range z.File {
				if !strings.HasSuffix(f.Name, ".json") {
					continue
				}
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				for dec := json.NewDecoder(r); ; sites++ {
					var p struct{ Provider, Name, Args string }
					if err := dec.Decode(&p); err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					checkNamed(t, f.Name, p.Provider, p.Name, p.Args, of.machine, of.class)
				}
				r.Close()
			}
			if sites < 100 {
				t.Errorf("got %d sites, want hundreds", sites)
			}
		})
	}
}

// TestOtherVersions checks that a probe whose arguments have other forms than any known
// version's has no names.
func TestOtherVersions(t *testing.T) {
	for _, c := range []struct{ provider, name, args string }{
		{"postgresql", "query__start", ""},
		{"postgresql", "query__start", "8@%rdi 8@%rsi"},
		{"postgresql", "query__start", "-8@%rdi"},
		{"postgresql", "query__start", "4@%edi"},
		{"postgresql", "query__start", "8@$5"},                                      // no pointer
		{"postgresql", "lwlock__acquire", "8@%rdi -4@%esi 4@%edx"},                  // until 9.6, with a number between
		{"postgresql", "sort__start", "-4@$0 -4@$2 -4@%eax 4@%ebx -4@%ecx -4@%edx"}, // 2 is no bool
		{"hotspot", "class__loaded", "8@%rdi 8@%rsi 8@%rdx 1@%cl"},
		{"python", "gc__done", "-4@%eax"},
		{"memcached", "conn__allocate", "8f@%xmm0"}, // no integer
		{"nobody", "knows", "8@%rdi"},
		{"../known/postgresql", "query__start", "8@%rdi"},
	} {
		args := notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, c.args)
		if p := prototype.Known().Lookup(c.provider, c.name, args, notes.ELFCLASS64); p != nil {
			t.Errorf("%s:%s(%s): got %v, want none", c.provider, c.name, c.args, p)
		}
	}
}

// TestKnownMeanings checks some of what tables say beside names.
func TestKnownMeanings(t *testing.T) {
	look := func(provider, name, args string) *prototype.Prototype {
		t.Helper()
		p := prototype.Known().Lookup(provider, name, notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, args), notes.ELFCLASS64)
		if p == nil {
			t.Fatalf("%s:%s(%s) has no prototype", provider, name, args)
		}
		return p
	}
	class := look("hotspot", "class__loaded", "8@%rdi -4@%esi 8@%rdx 1@%cl")
	if name := &class.Params[0]; name.Kind != prototype.Text || name.Length != 1 || !class.Params[1].IsLength {
		t.Errorf("class__loaded: got %+v, want text with the length in argument 1", name)
	}
	thrown := look("libstdcxx", "throw", "8@%rdi 8@%rsi")
	if typ := &thrown.Params[1]; !typ.Follow || typ.Offset != 8 || typ.Length != -1 {
		t.Errorf("throw: got %+v, want text behind a pointer at 8", typ)
	}
	lwlock := look("postgresql", "lwlock__acquire", "8@%rdi 4@%esi")
	if mode := &lwlock.Params[1]; mode.Enum.NameOf(1) != "LW_SHARED" || mode.Enum.NameOf(9) != "" {
		t.Errorf("lwlock__acquire: got %+v, want an enum LWLockMode", mode)
	}
	if names := lwlock.Params[1].Enum.Names(); !slices.Equal(names, []string{"LW_EXCLUSIVE", "LW_SHARED", "LW_WAIT_UNTIL_FREE"}) {
		t.Errorf("LWLockMode: got %v", names)
	}
	sleep := look("hotspot", "thread__sleep__begin", "-8@%rdi")
	if sleep.Params[0].Unit != "ms" {
		t.Errorf("thread__sleep__begin: got the unit %q, want ms", sleep.Params[0].Unit)
	}
}
