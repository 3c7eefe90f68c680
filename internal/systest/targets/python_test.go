package targets_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

func findPython(t testing.TB) string {
	return find(t, "python", "/usr/bin/python3.11", "/usr/bin/python3", "python3.11", "python3")
}

// needCalls skips the test unless Python has probes for functions, as 3.11 does
// and 3.13 does not.
func needCalls(t testing.TB) {
	t.Helper()
	python := findPython(t)
	f, err := reader.Open(python)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err == nil && p.Name == "function__return" {
			return
		}
	}
	needs.Skip(t, "needs python:function__return, which %s does not have", python)
}

// TestPythonCollections compares the collections of garbage with the arguments of
// gc.callbacks: the generation of each, and the number of objects that it found.
func TestPythonCollections(t *testing.T) {
	p := start(t, findPython(t), "testdata/work.py")
	s := open(t, []string{"python:gc__*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	probes := live(t, p.PID(), s)
	checkArmed(t, probes)
	var want [][]any
	if err := json.Unmarshal([]byte(p.Do("collect")), &want); err != nil {
		t.Fatal(err)
	}
	var got [][]any
	for _, ev := range drain(t, s) {
		n, _ := values(t, &ev)[0].(int64)
		got = append(got, []any{map[string]string{"gc__start": "start", "gc__done": "done"}[ev.Name], float64(n)})
	}
	checkClean(t, probes)
	if len(want) < 6+20 {
		t.Errorf("%d collections, want those by hand and some by themselves", len(want)/2)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("collections (-told +traced):\n%s", d)
	}
}

// TestPythonCalls counts the returns of a function by its name, in the kernel.
func TestPythonCalls(t *testing.T) {
	needCalls(t)
	p := start(t, findPython(t), "testdata/work.py")
	a, err := attach.OpenAggregate(t.Context(), []string{"python:function__return"}, attach.Count().By("arg1"),
		&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: `arg0 ~ "*/work.py" && arg1 != "collected"`, Strings: []string{"arg1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got := p.Do("call"); got != "1000" {
		t.Errorf("called %s times, want 1000", got)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]uint64{}
	for _, g := range groups {
		got[g.By[0].Value] = g.Count
	}
	if d := cmp.Diff(map[any]uint64{"called": 1000, "call": 1}, got); d != "" {
		t.Errorf("returns by function (-want +got):\n%s", d)
	}
	if st, err := a.Stats(); err != nil || st.Fired != st.Received+st.Lost+st.Filtered+st.Missed+st.Unread || st.Lost > 0 {
		t.Errorf("stats %+v, %v, want all accounted for and none lost", st, err)
	}
}

const pythonLines = `def one(n): return n
def two(n):
    return n
for i in range(3): one(i); two(i)
`

// TestPythonLines shows what sdttrace says of CPython 3.11: while lines are traced, each call is
// entered, and a function on a single line has no event of its line; each call returns.
func TestPythonLines(t *testing.T) {
	needCalls(t)
	script := filepath.Join(t.TempDir(), "lines.py")
	if err := os.WriteFile(script, []byte(pythonLines), 0o600); err != nil {
		t.Fatal(err)
	}
	python := findPython(t)
	got := map[string]int{}
	where := fmt.Sprintf("filename == %q && function != %q", script, "<module>")
	for _, ev := range traceCommand(t, []string{python + ":python:function__*", python + ":python:line"}, where, python, script) {
		got[fmt.Sprint(ev.Name, " ", argument(t, &ev, "function"), ":", argument(t, &ev, "lineno"))]++
	}
	want := map[string]int{
		"function__entry one:1": 3, "function__return one:1": 3,
		"function__entry two:2": 3, "line two:3": 3, "function__return two:3": 3,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
