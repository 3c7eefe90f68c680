package attach_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

// foldedPrototypes are those of testdata/folded.c.
const foldedPrototypes = `
folded:statement(char *query, int n)
folded:thrown(void *object, char *type->8)
`

// TestFoldedKeys groups 20,000 statements that differ in literals: more texts than there
// is room for in the kernel, and two statements.
func TestFoldedKeys(t *testing.T) {
	table, err := prototype.Parse("folded.probes", []byte(foldedPrototypes))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(compileC(t, "folded", "gcc", "-O2")))
	p.Do("0")
	target := attach.Target{PIDs: []int{p.PID()}}
	type group struct {
		By    string
		Count uint64
		Sum   any
	}
	groupsOf := func(a *attach.Aggregate) (all []group) {
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if g.By[0].Err != nil {
				t.Errorf("%s: %v", g.By[0].Name, g.By[0].Err)
			}
			all = append(all, group{fmt.Sprint(g.By[0].Name, " ", g.By[0].Value), g.Count, g.Sum})
		}
		return all
	}
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	half := uint64(n / 2)
	named := openAggregate(t, []string{"folded:statement"}, attach.Sum("n").By("sql(query)"), &attach.Options{Target: target, Prototypes: table})
	byPlace := openAggregate(t, []string{"folded:statement"}, attach.Count().By("sql(arg0)"), &attach.Options{Target: target, Where: fmt.Sprintf("arg1 >= %d", half)})
	types := openAggregate(t, []string{"folded:thrown"}, attach.Count().By("cxx(type)"), &attach.Options{Target: target, Prototypes: table})
	p.Do("%d", n)
	want := []group{
		{"sql(query) select * from t where id = ? and name = ?", half, int64(half * (half - 1))},
		{"sql(query) update t set n = n + ? where id in (?, ...)", half, int64(half * half)},
	}
	byCount := func(a, b group) bool { return a.By < b.By }
	if d := cmp.Diff(want, groupsOf(named), sorted(byCount)); d != "" {
		t.Errorf("by statement (-want +got):\n%s", d)
	}
	for i := range want {
		want[i].By, want[i].Count, want[i].Sum = strings.Replace(want[i].By, "query", "arg0", 1), half/2, nil
	}
	if d := cmp.Diff(want, groupsOf(byPlace), sorted(byCount)); d != "" {
		t.Errorf("by place, filtered (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]group{{"cxx(type) (anonymous namespace)::Loud", half, nil}, {"cxx(type) std::runtime_error", half, nil}}, groupsOf(types), sorted(byCount)); d != "" {
		t.Errorf("by type (-want +got):\n%s", d)
	}
	for _, a := range []*attach.Aggregate{named, byPlace, types} {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		if st, err := a.Stats(); err != nil || st.Lost+st.Missed > 0 || st.Fired != st.Received+st.Filtered {
			t.Errorf("stats %+v, %v, want all accounted for and nothing lost", st, err)
		}
	}
}

// TestFoldedLatency groups the time between two probes by the statement of the first.
func TestFoldedLatency(t *testing.T) {
	table, err := prototype.Parse("folded.probes", []byte(foldedPrototypes))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command(compileC(t, "folded", "gcc", "-O2")))
	p.Do("0")
	l, err := attach.OpenLatency(t.Context(), "folded:statement", "folded:thrown", &attach.LatencyOptions{By: []string{"sql(query)", "cxx(type)"}},
		&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Prototypes: table, Where: `n < 1000`})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer l.Close()
	p.Do("3000")
	groups, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, g := range groups {
		got[fmt.Sprint(g.By[0].Value, " | ", g.By[1].Value)] = g.Count
	}
	want := map[string]uint64{
		"select * from t where id = ? and name = ? | std::runtime_error":            500,
		"update t set n = n + ? where id in (?, ...) | (anonymous namespace)::Loud": 500,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("latencies (-want +got):\n%s", d)
	}
}

// TestFoldedKeysRefused checks what is said of keys that are none.
func TestFoldedKeysRefused(t *testing.T) {
	p := start(t, exec.Command(compileC(t, "folded", "gcc", "-O2")))
	p.Do("0")
	for _, c := range []struct{ key, want string }{
		{"sql(arg1)", "sql(arg1) is of text, and arg1 of folded:statement is none"},
		{"sql(comm)", "sql(comm) is of text, and comm of folded:statement is none"},
		{"sql(query)", "has no argument query"},
		{"upper(arg0)", "upper(arg0) is no key: want an argument, sql(ARGUMENT)"},
		{"sql(arg0", `key "sql(arg0", column 9: want ) after sql(arg0`},
	} {
		_, err := attach.OpenAggregate(t.Context(), []string{"folded:statement"}, attach.Count().By(c.key), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			needPrivileges(t, err)
			t.Errorf("%s: got %v, want %q", c.key, err, c.want)
		}
	}
}
