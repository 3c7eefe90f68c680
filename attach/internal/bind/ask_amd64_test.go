package bind_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

// TestOptionUse checks what is said of strings and pointers that no probe has.
func TestOptionUse(t *testing.T) {
	note := []bindtest.Probe{{Name: "n", Args: "8@%rdi 4@%esi"}}
	typed := []bindtest.Probe{{Name: "r", Type: bindtest.Request()}}
	for _, test := range []struct {
		probes          []bindtest.Probe
		strings, follow string
		option, want    string
	}{
		{note, "arg0", "", "", ""},
		{note, "arg0[arg1]", "", "", ""},
		{note, "arg1", "", "Strings", "argument arg1 of p:n is not a pointer"},
		{note, "arg2", "", "Strings", "p:n has no argument arg2, but arg0 to arg1"},
		{note, "arg0[arg7]", "", "Strings", "p:n has no argument arg7 that could be a length"},
		{note, "q:other:arg0", "", "Strings", "it names none of the probes that are traced"},
		{note, "", "peer", "Follow", `"peer": no probe has types, which describe pointers`},
		{typed, "arg0", "", "Strings", "p:r has typed arguments, whose strings are known without it"},
		{typed, "", "peer", "", ""},
		{typed, "", "other", "Follow", `no probe has a pointer "other" that could be followed`},
		{[]bindtest.Probe{{Name: "none"}}, "arg0", "", "Strings", "p:none has no arguments"},
		{nil, "arg0", "", "", ""},
	} {
		c := &bindtest.Case{Probes: test.probes, Strings: strings.Fields(test.strings), Binder: bind.Binder{Follow: strings.Fields(test.follow)}}
		strs, err := bind.ParseStrings(c.Strings)
		if err != nil {
			t.Fatal(err)
		}
		used := bind.NewOptionUse(strs, c.Binder.Follow, &c.Binder.Args)
		c.Binder.Used = used
		if _, err := c.Bind(); err != nil {
			t.Fatal(err)
		}
		option, err := used.Check()
		if option != test.option || err != nil && err.Error() != test.want || err == nil && test.want != "" {
			t.Errorf("%q, %q: option %q (%v), want %q (%s)", test.strings, test.follow, option, err, test.option, test.want)
		}
	}
}

// TestFunctionArgs checks which elements of Options.Args can be understood, and which fit the
// selectors.
func TestFunctionArgs(t *testing.T) {
	entry, ret, usdt := "uprobe:/bin/sh:f", "uretprobe:/bin/sh:f", "p:n"
	for _, test := range []struct{ args, selectors, want string }{
		{"", usdt, ""},
		{"arg0 arg1:int8", entry, ""},
		{"arg0:int8 arg0:int8 retval:uint32", entry + " " + ret, ""},
		{"none", entry, ""},
		{"req.path", entry, ""},
		{"err", ret, ""},
		{"req arg0", ret, "only retval when it returns"},
		{"n req.port", "uprobe:/bin/sh:sh.c:7", ""},
		{"n none", "uprobe:/bin/sh:sh.c:7", "none stands for no arguments"},
		{"n:int8", "uprobe:/bin/sh:sh.c:7", "the type that debugging information gives it"},
		{"arg0:float", entry, `unknown type "float"`},
		{"arg0:int8 arg0:int16", entry, "two types"},
		{"arg0", usdt, "no selector names functions"},
		{"arg0:conn* conn.port", usdt, ""},
		{"arg0:conn* n", usdt, "it names n, which is an argument of a function"},
		{"arg0:conn* data:*main.request", entry, ""},
		{"arg0:conn* arg1:conn*", usdt, "both called conn"},
		{"arg0:conn**", usdt, "a pointer to a pointer"},
		{"arg0:conn*arg7", usdt, "want ARG:TYPE*"},
		{"arg0:*", usdt, "want ARG:TYPE*"},
		{"arg0:conn*", "kprobe:vfs_read", "those of the kernel have theirs"},
		{"retval", entry, "no retval at its entry"},
		{"retval:int8", entry, "no retval at its entry"},
		{"arg0", ret, "only retval when it returns"},
		{"none", ret, "only retval when it returns"},
	} {
		args, err := argument.Parse(strings.Fields(test.args))
		var selectors []selector.Selector
		for _, s := range strings.Fields(test.selectors) {
			parsed, err := selector.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			selectors = append(selectors, parsed)
		}
		if err == nil {
			err = args.Fits(selectors)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q of %q: error %v, want %q", test.args, test.selectors, err, test.want)
		}
	}
}

// TestKeyNames checks what matches starts and ends: processes for themselves, unless a key says
// otherwise.
func TestKeyNames(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "id": "pid id", "pid id": "pid id", "tid": "tid", "machine id": "id",
		"machine": "error", "sql(id)": "error", "f(id)": "error",
	} {
		names, err := bind.KeyNames(strings.Fields(key))
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		if got != want || err != nil && !errors.Is(err, query.ErrAggregation) {
			t.Errorf("%q: %q (%v), want %q", key, got, err, want)
		}
	}
	l := &bind.PairLayout{Key: []string{"pid", "id"}}
	if pid, known := l.ProcessOf(binary.NativeEndian.AppendUint64(nil, 7), true); pid != 7 || !known {
		t.Errorf("the key's process is %d (%v), want 7", pid, known)
	}
	l.Key = nil
	if pid, known := l.ProcessOf(binary.NativeEndian.AppendUint64(nil, 7<<32|8), true); pid != 7 || known {
		t.Errorf("a thread's process is %d (%v), want 7, which may have another number", pid, known)
	}
	if pid, known := l.ProcessOf(binary.NativeEndian.AppendUint64(nil, 7), true); pid != 7 || !known {
		t.Errorf("a goroutine's process is %d (%v), want 7", pid, known)
	}
	for _, test := range []struct{ size, want int }{{0, 16 << 10}, {4 << 10, 8 << 10}, {1 << 20, 1 << 10}} {
		if got := (&bind.PairLayout{StartArgsSize: test.size}).MaxPending(); got != test.want {
			t.Errorf("%d starts of %d bytes may wait, want %d", got, test.size, test.want)
		}
	}
}

// TestMissingParts checks what is said of parts of keys that could not be read.
func TestMissingParts(t *testing.T) {
	bound := bindCase(t, &bindtest.Case{
		Probes: []bindtest.Probe{{Name: "a", Args: "8@%rdi -8@%rsi"}, {Name: "a", Args: "8@%rdi 8f@%xmm0"}},
		Where:  "arg0 > 1", Sums: &query.Computation{Value: "arg0", Functions: query.Of(query.Sum), By: []string{"arg1"}},
	})
	l := bound.Layout
	key := make([]byte, l.KeySize)
	mark := func(m uint8) { binary.NativeEndian.PutUint64(key[l.KeySize-8:], uint64(m)) }
	for m, want := range map[uint8]string{
		0: "", query.MarkSign: "", query.MarkNil: "<nil>", query.MarkNegative: "its length is negative",
		query.MarkDivision: "division by zero", query.MarkFault: event.ErrFault.Error(),
		query.MarkReason: `register "xmm0" is a vector register, which a BPF program cannot read`,
	} {
		mark(m)
		reason, missing := l.MissingPart(key, 0)
		switch {
		case missing != (want != ""):
			t.Errorf("mark %d: missing %v (%v)", m, missing, reason)
		case missing && reason == nil && want != "<nil>", reason != nil && reason.Error() != want:
			t.Errorf("mark %d: %v, want %s", m, reason, want)
		}
	}
	mark(query.MarkSign)
	if got, other := l.Part(key, 0).In.Kind, l.Parts[0].In.Kind; got == other {
		t.Errorf("a number of the other sign has kind %d as all others", got)
	}
	sc := bound.Schemas[0]
	for f, want := range map[query.Fault]string{
		{Input: 0, Mark: query.MarkNil}:                  "arg0: its pointer, or one on the way to it, is NULL",
		{Input: query.ValueInput, Mark: query.MarkFault}: "arg0: " + event.ErrFault.Error(),
		{Input: 5}: "",
	} {
		name, err := sc.Fault(&f)
		got := name
		if err != nil {
			got += ": " + err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}

// TestMatched checks that records of spans are matched by what their Binder has kept, and that
// other probes are not.
func TestMatched(t *testing.T) {
	bound := bindCase(t, &bindtest.Case{
		Probes: []bindtest.Probe{{Name: "start", Args: "8@%rdi"}, {Name: "end", Args: "8@%rdi 8@%rsi"}, {Name: "other", Args: "8@%rdi"}},
		Binder: bind.Binder{Keep: true},
	})
	where, err := filter.Parse("arg0 > 1 && arg1 != 2")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range [][]string{nil, {"pid", "arg0"}} {
		l := &bind.Layout{Layout: query.Layout{Value: query.Elapsed}, Pairs: &bind.PairLayout{Whole: true, Key: key}}
		if l.Pairs.Start, err = selector.Parse("p:start"); err != nil {
			t.Fatal(err)
		}
		if l.Pairs.End, err = selector.Parse("p:end"); err != nil {
			t.Fatal(err)
		}
		var roles []query.Role
		for i, sc := range bound.Schemas {
			sig, err := l.Matched(where, sc, &bound.Plan[i].Probe)
			if err != nil {
				t.Fatal(err)
			}
			if sig == nil {
				roles = append(roles, query.RoleNone)
				continue
			}
			roles = append(roles, sig.Aggregate.Role)
			if sig.Condition == nil || len(sig.Aggregate.Pair) != 2 {
				t.Errorf("key %q: site %d has the condition %v and the key %v", key, i, sig.Condition, sig.Aggregate.Pair)
			}
		}
		if d := cmp.Diff([]query.Role{query.RoleStart, query.RoleEnd, query.RoleNone}, roles); d != "" {
			t.Errorf("key %q: roles (-want +got):\n%s", key, d)
		}
		if err := errors.Join(l.Pairs.Overlap(), l.Fits()); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// TestTested checks that another condition is fitted to records that are settled.
func TestTested(t *testing.T) {
	bound := bindCase(t, &bindtest.Case{Probes: []bindtest.Probe{{Name: "n", Args: "8@%rdi"}}, Sums: &query.Computation{By: []string{"arg0"}}})
	for where, want := range map[string]string{"arg0 == 3": "", "other == 3": "has no argument other", "cpu == 1": "events do not hold"} {
		expr, err := filter.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := bind.Tested(expr, bound.Schemas[0], &bound.Plan[0].Probe)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", where, err, want)
		}
		if err == nil && (sig.Condition == nil || sig.Aggregate != nil || len(sig.Inputs) != 1) {
			t.Errorf("%s: signature %s", where, bindtest.Dump(sig))
		}
	}
}

// bindCase binds a case of which some site fits.
func bindCase(t *testing.T, c *bindtest.Case) *bindtest.Bound {
	t.Helper()
	bound, err := c.Bind()
	if err != nil {
		t.Fatal(err)
	}
	if len(bound.Signatures()) == 0 {
		t.Fatal(bound.Plan[0].Reason)
	}
	return bound
}
