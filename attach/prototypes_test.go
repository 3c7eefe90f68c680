package attach_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/prototype"
)

// prototypesOfNamed are the prototypes of testdata/named.c. Those of the last probe do
// not fit it.
const prototypesOfNamed = `
enum Mode { NONE, SOME, ALL }
named:terminated(char *query)
named:counted(char *name[len], int len, bool shared)
named:followed(struct thing *object, char *title->8)
named:wide(char16_t *label[len], int len)
named:numbers(int64_t took ns, Mode mode, int code as uintptr_t)
named:null(char *first, char *second)
named:partly(unsigned char _, int code)
named:other(char *query)
named:other(char *query, long code)
`

func startNamed(t *testing.T) (*tracee.Program, *prototype.Table) {
	t.Helper()
	table, err := prototype.Parse("named.probes", []byte(prototypesOfNamed))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(compileC(t, "named", "gcc", "-O2")))
	p.Do("") // it has been mapped
	return p, table
}

// TestPrototypes checks that arguments have the names and types of their prototypes, and
// that nothing has names for which no prototype fits.
func TestPrototypes(t *testing.T) {
	p, table := startNamed(t)
	target := attach.Target{PIDs: []int{p.PID()}}
	known := open(t, "named:*", &attach.Options{Target: target, Prototypes: table})
	bare := open(t, "named:*", &attach.Options{Target: target})
	short := openEvents(t, "named:wide", &attach.EventOptions{MaxString: 4}, &attach.Options{Target: target, Prototypes: table})
	p.Do("")
	got := map[string][]arg{}
	for _, ev := range drain(t, known) {
		got[ev.Name] = argsOf(ev)
	}
	address, untyped := any(nil), map[string][]arg{}
	for _, ev := range drain(t, bare) {
		untyped[ev.Name] = argsOf(ev)
	}
	address = untyped["followed"][0].Value
	want := map[string][]arg{
		"terminated": named("query", "a text/and more"),
		"counted":    named("name", "a text", "shared", true),
		"followed":   named("object", address, "title", "a text/and more"),
		"wide":       named("label", "wörter"),
		"numbers":    named("took", 1500*time.Microsecond, "mode", uint64(2), "code", int64(-5)),
		"null":       named("first", nil, "second", nil),
		"partly":     named("arg0", uint64(1), "code", int64(-5)),
		"other":      untyped["other"],
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if name := untyped["other"][0].Name; name != "arg0" {
		t.Errorf("without prototypes an argument is called %s", name)
	}
	for _, ev := range drain(t, short) {
		if a := ev.Args[0]; a.Value != "wö" || a.Err == nil {
			t.Errorf("truncated UTF-16 is %q, %v, want the letters of its first 4 bytes, and why", a.Value, a.Err)
		}
	}
}

// TestPrototypesByName checks that conditions and keys have the names, and lengths that
// events leave out, as well as the places.
func TestPrototypesByName(t *testing.T) {
	p, table := startNamed(t)
	opts := func(where string) *attach.Options {
		return &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Prototypes: table, Where: where}
	}
	for _, c := range []struct {
		probe, where string
		events       int
	}{
		{"terminated", `query ~ "a text*"`, 1},
		{"terminated", `query == "a text"`, 0},
		{"terminated", `arg0 ~ "*more"`, 1},
		{"counted", `name == "a text"`, 1},
		{"counted", `arg0 == "a text" && arg1 == 6 && arg2`, 1},
		{"counted", `len == 6 && shared`, 1},
		{"counted", `len == 5 || !shared`, 0},
		{"followed", `title ~ "*more" && object != 0`, 1},
		{"numbers", `took > 1ms && took < 2ms && code == -5`, 1},
		{"numbers", `took > 2ms`, 0},
		{"null", `first == ""`, 0},
		{"numbers", `mode == "ALL"`, 1},
		{"numbers", `mode != "ALL"`, 0},
		{"numbers", `arg1 != "SOME" && arg1 == 2`, 1},
	} {
		s := open(t, "named:"+c.probe, opts(c.where))
		p.Do("")
		if n := len(drain(t, s)); n != c.events {
			t.Errorf("%s: %s: %d events, want %d", c.probe, c.where, n, c.events)
		}
	}
	for _, c := range []struct {
		probe, by string
		want      any
	}{
		{"terminated", "query", "a text/and more"}, {"terminated", "arg0", "a text/and more"},
		{"counted", "name", "a text"}, {"counted", "arg0", "a text"}, {"counted", "len", int64(6)}, {"counted", "arg1", int64(6)},
		{"followed", "title", "a text/and more"}, {"numbers", "code", int64(-5)},
	} {
		a := openAggregate(t, []string{"named:" + c.probe}, attach.Count().By(c.by), opts(""))
		p.Do("")
		groups, err := a.Read()
		if err != nil || len(groups) != 1 || groups[0].By[0].Value != c.want || groups[0].By[0].Name != c.by {
			t.Errorf("%s by %s: %+v, %v, want one group %v", c.probe, c.by, groups, err, c.want)
		}
	}
	var where *attach.WhereError
	if _, err := attach.Open(t.Context(), []string{"named:wide"}, opts(`label == "x"`)); !errors.As(err, &where) {
		t.Errorf("a condition on UTF-16: got %v, want an error of it", err)
	}
	for condition, want := range map[string]string{
		`mode == "EVERY"`: `mode has no value "EVERY": it has NONE, SOME, ALL`,
		`mode > "SOME"`:   "names of numbers are compared by == and != only",
		`mode ~ "A*"`:     "~ compares a string with a pattern",
		`code == "ALL"`:   "code is an integer, and is compared with a string",
	} {
		if _, err := attach.Open(t.Context(), []string{"named:numbers"}, opts(condition)); !errors.As(err, &where) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", condition, err, want)
		}
	}
	if _, err := attach.Open(t.Context(), []string{"named:other"}, opts(`query == "x"`)); !errors.As(err, &where) {
		t.Errorf("a name that does not fit: got %v, want an error", err)
	}
}

// TestPrototypesAndStrings checks that what the caller says of an argument wins.
func TestPrototypesAndStrings(t *testing.T) {
	p, table := startNamed(t)
	s := open(t, "named:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Prototypes: table, Strings: []string{"named:counted:arg0", "named:followed:arg0->8"}})
	p.Do("")
	got := map[string][]arg{}
	for _, ev := range drain(t, s) {
		got[ev.Name] = argsOf(ev)
	}
	if d := cmp.Diff(named("name", "a text/and more", "shared", true), got["counted"]); d != "" {
		t.Errorf("a length that the caller does not want (-want +got):\n%s", d)
	}
	if d := cmp.Diff(named("object", "a text/and more", "title", "a text/and more"), got["followed"]); d != "" {
		t.Errorf("text where the prototype has none (-want +got):\n%s", d)
	}
}

// TestDanger checks that a probe is refused beside the one with which it is known to harm its
// program, also by a selector of both, unless that is forced.
func TestDanger(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	table, err := prototype.Parse("mine", []byte("danger "+filepath.Base(path)+" args:bare floats it crashes\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		selectors []string
		force     bool
		refused   int
	}{
		{[]string{"args:bare"}, false, 0},
		{[]string{"args:bare", "args:floats"}, false, 1},
		{[]string{"args:*"}, false, 1},
		{[]string{"args:*"}, true, 0},
	} {
		s, err := attach.Open(t.Context(), c.selectors, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Prototypes: table, Force: c.force})
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, site := range s.Plan() {
			if errors.Is(site.Reason, attach.ErrUnsafe) && strings.Contains(site.Reason.Error(), ": it crashes if args:floats is traced as well") {
				refused++
			}
		}
		if refused != c.refused {
			t.Errorf("%q, Force %v: %d sites are refused, want %d: %v", c.selectors, c.force, refused, c.refused, s.Plan())
		}
		s.Close()
	}
}
