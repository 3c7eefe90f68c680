package attach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["expressions"] = tracee.Obey(expressionsChild()) }

// expressed are the arguments of an event of the child "expressions".
type expressed struct {
	status int32
	size   uint64
	small  uint8
	took   time.Duration
	zero   int16
	path   string
}

const expressedEvents = 600

// expressedAt returns those of its i-th event.
func expressedAt(i int) expressed {
	return expressed{
		status: int32(i*7919%1200) - 600, size: uint64(i) * 0x9e3779b97f4a7c15, small: uint8(i), took: time.Duration(i*i) * 37 * time.Microsecond,
		zero: int16(i%3) - 1, path: fmt.Sprintf("/%s/%d", strings.Repeat("ab", i%70), i%11),
	}
}

// expressionsChild fires them, and pairs of starts and ends with their statuses.
func expressionsChild() func(string) error {
	p := provider.New("express", nil)
	done := provider.NewProbe6[int32, uint64, uint8, time.Duration, int16, string](p, "done", "status", "size", "small", "took", "zero", "path")
	begin := provider.NewProbe2[int32, uint64](p, "begin", "status", "size")
	end := provider.NewProbe1[int32](p, "end", "code")
	owned := provider.NewProbe2[int32, int32](p, "owned", "cpu", "uid")
	return func(command string) error {
		switch command {
		case "load":
			return p.Load()
		case "owned":
			owned.Fire(-1, -2)
		case "pairs":
			for i := range expressedEvents {
				e := expressedAt(i)
				begin.Fire(e.status, e.size)
				end.Fire(e.status + 1024*int32(i%5)) // differs only in bits above the lowest ten
			}
		default:
			for i := range expressedEvents {
				e := expressedAt(i)
				done.Fire(e.status, e.size, e.small, e.took, e.zero, e.path)
			}
		}
		return nil
	}
}

// expressionTests have what each key is of an event; missing stands for a division by zero.
var expressionTests = map[string]func(e expressed) any{
	"status/100":                    func(e expressed) any { return int64(e.status) / 100 },
	"status%7":                      func(e expressed) any { return int64(e.status) % 7 },
	"status/-7":                     func(e expressed) any { return int64(e.status) / -7 },
	"status>>3":                     func(e expressed) any { return int64(e.status) >> 3 },
	"(status+600)/100*100":          func(e expressed) any { return (int64(e.status) + 600) / 100 * 100 },
	"size&4095":                     func(e expressed) any { return e.size & 4095 },
	"size%1000003":                  func(e expressed) any { return e.size % 1000003 },
	"size>>60":                      func(e expressed) any { return e.size >> 60 },
	"size/(1<<61)":                  func(e expressed) any { return e.size / (1 << 61) },
	"small/16":                      func(e expressed) any { return uint64(e.small) / 16 },
	"small-100":                     func(e expressed) any { return int64(e.small) - 100 },
	"-small":                        func(e expressed) any { return -int64(e.small) },
	"small*small%17+3":              func(e expressed) any { return uint64(e.small)*uint64(e.small)%17 + 3 },
	"1<<small":                      func(e expressed) any { return uint64(1) << e.small },
	"status>>small":                 func(e expressed) any { return int64(e.status) >> e.small },
	"size>>(small*2)":               func(e expressed) any { return e.size >> (2 * uint64(e.small)) },
	"took/100ms":                    func(e expressed) any { return int64(e.took / (100 * time.Millisecond)) },
	"took%1ms":                      func(e expressed) any { return e.took % time.Millisecond },
	"took-1s":                       func(e expressed) any { return e.took - time.Second },
	"(small-(zero-(status-small)))": func(e expressed) any { return int64(e.small) - (int64(e.zero) - (int64(e.status) - int64(e.small))) },
	"status/zero": func(e expressed) any {
		if e.zero == 0 {
			return errDivided
		}
		return int64(e.status) / int64(e.zero)
	},
	"small%(zero+1)": func(e expressed) any {
		if e.zero == -1 {
			return errDivided
		}
		return int64(e.small) % (int64(e.zero) + 1)
	},
	"path[:1]":   func(e expressed) any { return e.path[:1] },
	"path[:8]":   func(e expressed) any { return e.path[:min(8, len(e.path))] },
	"path[:13]":  func(e expressed) any { return e.path[:min(13, len(e.path))] },
	"path[:120]": func(e expressed) any { return e.path[:min(120, len(e.path))] },
	"comm[:2]":   func(expressed) any { return "ex" },
}

var errDivided = errors.New("division by zero")

// TestExpressions groups by expressions and beginnings of text, and wants what Go makes of
// the same arguments.
func TestExpressions(t *testing.T) { everyWay(t, checkExpressions) }

func checkExpressions(t *testing.T) {
	p := startChild(t, "expressions")
	p.Do("load")
	keys := make([]string, 0, len(expressionTests))
	for key := range expressionTests {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	target := attach.Target{PIDs: []int{p.PID()}}
	for some := range slices.Chunk(keys, 9) { // a process admits 16 tracers
		all := map[string]*attach.Aggregate{}
		for _, key := range some {
			spaced := strings.ReplaceAll(key, "/", " / ")
			all[key] = openAggregate(t, []string{"express:done"}, attach.Sum("small").By(spaced), &attach.Options{Target: target})
		}
		two := openAggregate(t, []string{"express:done"}, attach.Count().By(some...), &attach.Options{Target: target})
		p.Do("fire")
		for _, key := range some {
			want := map[string][2]uint64{}
			for i := range expressedEvents {
				e := expressedAt(i)
				arg := event.Arg{Name: key, Value: expressionTests[key](e)}
				if err, failed := arg.Value.(error); failed {
					arg.Value, arg.Err = nil, err
				}
				line := fmt.Sprint(arg)
				want[line] = [2]uint64{want[line][0] + 1, want[line][1] + uint64(e.small)}
			}
			got := map[string][2]uint64{}
			groups, err := all[key].Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				got[fmt.Sprint(g.By[0])] = [2]uint64{g.Count, g.Sum.(uint64)}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("by %s (-want +got):\n%s", key, d)
			}
			if st := checkSum(t, all[key]); st.Received != expressedEvents {
				t.Errorf("by %s: stats %+v, want %d received", key, st, expressedEvents)
			}
			all[key].Close()
		}
		if _, err := two.Read(); err != nil {
			t.Error(err)
		}
		if st := checkSum(t, two); st.Lost > 0 {
			t.Errorf("by %v: stats %+v, want none lost", some, st)
		}
		two.Close()
	}
}

// TestExpressionsWhere tests the same expressions in conditions.
func TestExpressionsWhere(t *testing.T) { sharedToo(t, checkExpressionsWhere) }

func checkExpressionsWhere(t *testing.T) {
	p := startChild(t, "expressions")
	p.Do("load")
	for where, holds := range map[string]func(e expressed) bool{
		"status/100 == -3":             func(e expressed) bool { return e.status/100 == -3 },
		"status % 7 < -4":              func(e expressed) bool { return e.status%7 < -4 },
		"(size & 0xfff) < 100":         func(e expressed) bool { return e.size&0xfff < 100 },
		"size - 1 < 0":                 func(e expressed) bool { return int64(e.size-1) < 0 },
		"took / 1ms >= 1000":           func(e expressed) bool { return e.took/time.Millisecond >= 1000 },
		"took * 2 > 1s && small > 250": func(e expressed) bool { return e.took*2 > time.Second && e.small > 250 },
		"status / zero != 5":           func(e expressed) bool { return e.zero != 0 && e.status/int32(e.zero) != 5 },
		"!(status / zero > 0)":         func(e expressed) bool { return e.zero == 0 || e.status/int32(e.zero) <= 0 },
		`path[:3] == "/ab"`:            func(e expressed) bool { return strings.HasPrefix(e.path, "/ab") },
		`path[:6] != "/ababa"`:         func(e expressed) bool { return !strings.HasPrefix(e.path, "/ababa") },
		`path[:5] ~ "*b/*"`:            func(e expressed) bool { return strings.Contains(e.path[:min(5, len(e.path))], "b/") },
		"8 <= small % 10 * 2":          func(e expressed) bool { return e.small%10*2 >= 8 },
	} {
		t.Run(where, func(t *testing.T) {
			s := open(t, "express:done", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: where})
			p.Do("fire")
			var want []string
			for i := range expressedEvents {
				if e := expressedAt(i); holds(e) {
					want = append(want, fmt.Sprint(e.size))
				}
			}
			var got []string
			for _, ev := range drain(t, s) {
				got = append(got, fmt.Sprint(ev.Args[1].Value))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if len(want) == 0 || len(want) == expressedEvents {
				t.Errorf("%d of %d events are wanted: the test shows nothing", len(want), expressedEvents)
			}
			s.Close()
		})
	}
}

// TestExpressionsPair matches starts and ends by bits of their arguments, and groups by an
// expression of what only the start has.
func TestExpressionsPair(t *testing.T) { everyWay(t, checkExpressionsPair) }

func checkExpressionsPair(t *testing.T) {
	p := startChild(t, "expressions")
	p.Do("load")
	// An argument of another name would have to be named by its place.
	a, err := latencyBy(t, t.Context(), "express:begin", "express:end", &attach.LatencyOptions{Key: []string{"arg0 & 1023"}, By: []string{"size % 3", "code / 2000"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	p.Do("pairs")
	want, got := map[string]uint64{}, map[string]uint64{}
	for i := range expressedEvents {
		e := expressedAt(i)
		want[fmt.Sprintf(`{"size%%3":%d,"code/2000":%d}`, e.size%3, (e.status+1024*int32(i%5))/2000)]++
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		got[string(event.Struct(g.By).AppendJSON(nil))] = g.Count
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	pairs, err := a.Pairs()
	if err != nil || pairs.Pairs != expressedEvents {
		t.Errorf("pairs %+v, %v, want %d", pairs, err, expressedEvents)
	}
}

// TestTask groups by what is known of the task beside its ids, and checks that arguments of
// such names come first.
func TestTask(t *testing.T) { eachWay(t, checkTask) }

func checkTask(t *testing.T) {
	p := startChild(t, "expressions")
	p.Do("load")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: fmt.Sprintf("uid == %d && cpu >= 0 && ((cpu + 1) * 2 & 1) == 0", os.Getuid())}
	a := openAggregate(t, []string{"express:done"}, attach.Sum("small").By("cpu", "uid*2", "tid-pid+pid", "comm"), opts)
	b := openAggregate(t, []string{"express:owned"}, attach.Count().By("cpu", "uid"), &attach.Options{Target: opts.Target})
	p.Do("fire")
	p.Do("owned")
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	total := uint64(0)
	for _, g := range groups {
		total += g.Count
		tids, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		isThread := slices.ContainsFunc(tids, func(tid os.DirEntry) bool { return tid.Name() == fmt.Sprint(g.By[2].Value) })
		if cpu, ok := g.By[0].Value.(uint64); !ok || cpu >= 1<<16 || g.By[1].Value != uint64(2*os.Getuid()) || !isThread || g.By[3].Value != "exe" {
			t.Errorf("group %+v of process %d", g, p.PID())
		}
	}
	if total != expressedEvents {
		t.Errorf("%d events in groups, want %d", total, expressedEvents)
	}
	if d := cmp.Diff([]string{`{"by":{"cpu":-1,"uid":-2},"count":1}`}, groupsOf(t, b)); d != "" {
		t.Errorf("by arguments (-want +got):\n%s", d)
	}
	for _, a := range []*attach.Aggregate{a, b} {
		if st := checkSum(t, a); st.Lost > 0 {
			t.Errorf("stats %+v, want none lost", st)
		}
	}
}

// TestExpressionsC is TestExpressions for arguments without types, some of them in memory
// that is gone, by all links.
func TestExpressionsC(t *testing.T) { eachWay(t, checkExpressionsC) }

func checkExpressionsC(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	args, keys := compile(t, "gcc", "-O2"), compileC(t, "keys", "gcc", "-O1")
	for _, test := range []struct {
		path, probe, by string
		want            []string
	}{
		{args, "args:ints", "arg0*arg2+arg1", []string{`{"by":{"arg0*arg2+arg1":13000},"count":1}`}},
		{args, "args:ints", "arg7>>60", []string{`{"by":{"arg7>>60":15},"count":1}`}},
		{args, "args:consts", "arg0%4", []string{`{"by":{"arg0%4":-1},"count":1}`}},
		{args, "args:text", "arg0[:3]", []string{`{"by":{"arg0[:3]":"h\u00e9"},"count":1}`}},
		{args, "args:text", "arg0[:99]", []string{`{"by":{"arg0[:99]":"h\u00e9llo"},"count":1}`}},
		{keys, "keys:text", "arg0[:2]", []string{
			`{"by":{"arg0[:2]":"he"},"count":1}`,
			`{"by":{"arg0[:2]":null},"count":1,"errors":{"arg0[:2]":"memory not readable"}}`,
			`{"by":{"arg0[:2]":null},"count":1}`,
		}},
		{keys, "keys:memory", "arg0-arg1*2", []string{
			`{"by":{"arg0-arg1*2":-9},"count":1}`,
			`{"by":{"arg0-arg1*2":null},"count":1,"errors":{"arg0-arg1*2":"memory not readable"}}`,
		}},
		{keys, "keys:memory", "100/(arg1-1)", []string{
			`{"by":{"100/(arg1-1)":100},"count":1}`,
			`{"by":{"100/(arg1-1)":null},"count":1,"errors":{"100/(arg1-1)":"division by zero"}}`,
		}},
		{keys, "keys:vec*", "arg0/2,probe", []string{
			`{"by":{"arg0/2":2,"probe":"keys:vec2"},"count":1}`,
			`{"by":{"arg0/2":null,"probe":"keys:vec1"},"count":1,"errors":{"arg0/2":"register \"xmm0\" is a vector register, which a BPF program cannot read"}}`,
		}},
	} {
		for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
			t.Run(link.String(), func(t *testing.T) {
				p := start(t, exec.Command(test.path))
				a := openAggregate(t, []string{test.path + ":" + test.probe}, attach.Count().By(strings.Split(test.by, ",")...), &attach.Options{Link: link})
				p.Do("")
				var want, got []any
				for _, lines := range []struct {
					lines []string
					to    *[]any
				}{{test.want, &want}, {groupsOf(t, a), &got}} {
					for _, line := range lines.lines {
						var v any
						if err := json.Unmarshal([]byte(line), &v); err != nil {
							t.Fatal(err)
						}
						*lines.to = append(*lines.to, v)
					}
				}
				byText := func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
				slices.SortFunc(want, byText)
				slices.SortFunc(got, byText)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s by %s (-want +got):\n%s", test.probe, test.by, d)
				}
				if st := checkSum(t, a); st.Lost != 0 {
					t.Errorf("%s by %s: stats %+v, want none lost", test.probe, test.by, st)
				}
				a.Close()
			})
		}
	}
}
