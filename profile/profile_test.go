package profile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
	"github.com/go-usdt/usdt/total"
)

// fire adds an event to a profile, of a process whose addresses are named by number.
func fire(p *Profile, pid int, text string, args []event.Arg, pcs ...uint64) {
	args = append([]event.Arg{{Name: "text", Value: text}}, args...)
	p.Add(&event.Event{PID: pid, Comm: "co;mm", Provider: "p", Name: "n", Args: args, Stack: &event.Stack{PCs: pcs}})
}

// written returns what a profile is in both formats.
func written(t *testing.T, p *Profile) (folded string, read *pprof.Profile) {
	t.Helper()
	var text, binary bytes.Buffer
	if err := errors.Join(p.WriteFolded(&text), p.WritePprof(&binary)); err != nil {
		t.Fatal(err)
	}
	read, err := pprof.Parse(&binary)
	if err == nil {
		err = read.CheckValid()
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), read
}

// TestProfile checks sums, tags and texts of both formats, also of names that a process
// has made up.
func TestProfile(t *testing.T) {
	p := New("took")
	took := func(v any) []event.Arg { return []event.Arg{{Name: "took", Value: v}} }
	fire(p, 1, "a", took(2*time.Second), 1, 2, 3)
	fire(p, 1, "a", took(3*time.Second), 1, 2, 3)
	fire(p, 2, "a", took(time.Second), 1, 2, 3)
	fire(p, 2, "b\xff", took(-time.Second), 2, 3)
	fire(p, 2, "b", took("no number"), 2, 3)
	fire(p, 2, "b", nil, 2, 3)
	if p.Left != 2 {
		t.Errorf("%d events have no number, want 2", p.Left)
	}
	folded, read := written(t, p)
	want := "co:mm;[unknown];[unknown];[unknown] 6000000000\nco:mm;[unknown];[unknown] -1000000000\n"
	if folded != want {
		t.Errorf("folded %q, want %q", folded, want)
	}
	var got []string
	for _, s := range read.Sample {
		got = append(got, fmt.Sprint(s.Value, len(s.Location), s.Label, s.NumLabel))
	}
	wants := []string{
		"[2 5000000000] 3 map[comm:[co;mm] probe:[p:n] text:[a]] map[pid:[1]]",
		"[1 -1000000000] 2 map[comm:[co;mm] probe:[p:n] text:[b\\xff]] map[pid:[2]]",
		"[1 1000000000] 3 map[comm:[co;mm] probe:[p:n] text:[a]] map[pid:[2]]",
	}
	if d := cmp.Diff(wants, got); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}
	if v := read.SampleType[1]; v.Type != "took" || v.Unit != "nanoseconds" || read.DefaultSampleType != "took" {
		t.Errorf("the sum is %s in %s, shown is %s", v.Type, v.Unit, read.DefaultSampleType)
	}
}

// TestInlined checks that functions which run at one address are one place.
func TestInlined(t *testing.T) {
	p := New("")
	frames := []symbols.Frame{{Func: "in", File: "f", Line: 1, Inlined: true, Module: "/m", Offset: 7}, {Func: "out", File: "f", Line: 2, Module: "/m", Offset: 7}}
	first, again := p.callsOf(frames), p.callsOf(frames)
	if first != again || len(p.all) != 1 {
		t.Errorf("%d places, want 1", len(p.all))
	}
	p.samples["x"] = &sample{stack: []*calls{first}, comm: "c", values: []int64{3}}
	folded, read := written(t, p)
	if folded != "c;out;in 3\n" {
		t.Errorf("folded %q", folded)
	}
	for _, f := range read.Function {
		if f.SystemName == f.Name {
			t.Errorf("%s is also the name of the system, and pprof shortens it", f.Name)
		}
	}
	l := read.Location[0]
	if got := fmt.Sprintln(len(read.Location), l.Address, l.Mapping.File, l.Line[0].Function.Name, l.Line[0].Line, l.Line[1].Function.Name, l.Line[1].Line); got != "1 7 /m in 1 out 2\n" {
		t.Errorf("location %s", got)
	}
}

// TestBounded checks that texts without end do not take memory without end, and that
// nothing is lost by that.
func TestBounded(t *testing.T) {
	p := New("")
	p.most = 100
	for i := range 1000 {
		fire(p, 1, strings.Repeat("x", i), nil, 1, 2)
	}
	n := int64(0)
	for _, s := range p.sorted() {
		n += s.values[0]
	}
	if len(p.samples) != p.most+1 || n != 1000 || p.Unlike != 900 {
		t.Errorf("%d samples of %d events, %d of them without text, want 101, 1000 and 900", len(p.samples), n, p.Unlike)
	}
}

// TestGroups checks what a profile has of groups: values, and tags of their other keys.
func TestGroups(t *testing.T) {
	p := Of(Value{"events", "count"}, Value{"took", "count"})
	stack := event.Arg{Name: "stack", Value: &event.Stack{PCs: []uint64{1, 2}}}
	by := []event.Arg{{Name: "path", Value: "/a"}, stack, {Name: "status", Value: int64(-1)}, {Name: "wait", Value: time.Second}}
	p.AddGroup(&total.Group{By: by, Count: 3, Sum: 6 * time.Second})
	p.AddGroup(&total.Group{By: by, Count: 1, Sum: time.Second}) // of the next interval
	p.AddGroup(&total.Group{By: []event.Arg{{Name: "comm", Value: "c"}, {Name: "stack"}}, Count: 1, Sum: 2 * time.Second})
	p.AddGroup(&total.Group{By: []event.Arg{{Name: "comm"}, {Name: "stack"}}, Other: true, Count: 9, Sum: 3 * time.Second})
	folded, read := written(t, p)
	if want := "(other) 3000000000\n[unknown];[unknown] 7000000000\nc;[unknown] 2000000000\n"; folded != want {
		t.Errorf("folded %q, want %q", folded, want)
	}
	var got []string
	for _, s := range read.Sample {
		got = append(got, fmt.Sprint(s.Value, len(s.Location), s.Label, s.NumLabel, s.NumUnit["wait"]))
	}
	want := []string{
		"[9 3000000000] 1 map[] map[] []",
		"[4 7000000000] 2 map[path:[/a]] map[status:[-1] wait:[1000000000]] [nanoseconds]",
		"[1 2000000000] 1 map[comm:[c]] map[] []",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}
	if v := read.SampleType[1]; v.Unit != "nanoseconds" || read.DefaultSampleType != "took" {
		t.Errorf("the sum is in %s, shown is %s", v.Unit, read.DefaultSampleType)
	}
}

// TestDemangled checks that pprof shows names of C++ and Rust whole, and has their symbols.
func TestDemangled(t *testing.T) {
	names := map[string]string{
		"std::function<int (int)>::operator()(int) const":           "_ZNKSt8functionIFiiEEclEi",
		"int Deep<3>::go<main::{lambda()#1}&>(main::{lambda()#1}&)": "_ZN4DeepILi3EE2goIRZ4mainEUlvE_EEiOT_",
		"operator new(unsigned long)":                               "_Znwm",
		"plain":                                                     "", "main.(*T[...]).Do": "", "r::main::{closure#0}": "_RNCNvCs1_1r4main0",
	}
	p := New("")
	for name, symbol := range names {
		p.samples[name] = &sample{stack: []*calls{p.callsOf([]symbols.Frame{{Func: name, Symbol: symbol, Module: "/m", Offset: uint64(len(name))}})}, comm: "c", values: []int64{3}}
	}
	_, read := written(t, p)
	for _, f := range read.Function {
		if want, ok := names[f.Name]; !ok || f.SystemName != want {
			t.Errorf("function %q has the symbol %q, want %q", f.Name, f.SystemName, want)
		}
	}
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.WritePprof(f); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"", "full", "none"} {
		top := needs.Run(t, "go", "tool", "pprof", "-top", "-nodefraction=0", "-symbolize=demangle="+mode, path)
		for name, symbol := range names {
			if mode == "none" && symbol != "" {
				name = symbol
			}
			if !strings.Contains(top, " "+name+"\n") {
				t.Errorf("demangle=%s: pprof does not show %q:\n%s", mode, name, top)
			}
		}
	}
}
