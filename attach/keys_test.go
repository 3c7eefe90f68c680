package attach_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

func init() { roles["keys"] = tracee.Obey(keysChild()) }

type keysRecord struct {
	Name *string
	Peer *keysPeer
	F    float64
	G    float32
	Text string
}

type keysPeer struct {
	Host string
	Port uint16
	Next *keysPeer
}

// keysChild fires values that groups cannot have as a key.
func keysChild() func(string) error {
	p := provider.New("keys", nil)
	record := provider.NewStructProbe[keysRecord](p, "record")
	begin := provider.NewStructProbe[keysRecord](p, "begin")
	finish := provider.NewProbe1[uint64](p, "finish", "n")
	zeros := provider.NewProbe2[float64, float32](p, "zeros", "f", "g")
	return func(command string) error {
		switch command {
		case "load":
			return p.Load()
		case "zeros":
			for _, f := range []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)} {
				zeros.Fire(f, float32(f))
			}
			return nil
		}
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		beyond := unsafe.Pointer(unsafe.SliceData(page))
		name := "name"
		peer := &keysPeer{Host: "host", Port: 1, Next: &keysPeer{Port: 2}}
		for _, r := range []*keysRecord{
			{Name: &name, Peer: peer},
			{Name: &name, Peer: peer},
			{},
			{Name: (*string)(beyond), Peer: (*keysPeer)(beyond)},
			{Name: &name, Peer: &keysPeer{Host: "host", Port: 1}},
			nil,
		} {
			record.Fire(r)
			begin.Fire(r)
			finish.Fire(1)
		}
		return unix.Munmap(page)
	}
}

// groupsOf returns the keys and counts of groups as JSON has them, in order.
func groupsOf(t testing.TB, a *attach.Aggregate) []string {
	t.Helper()
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, g := range groups {
		data, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	slices.Sort(all)
	return all
}

// TestMissingKeys checks that events without a key form a group, which says why, unless a
// pointer or the record itself is nil.
func TestMissingKeys(t *testing.T) { everyWay(t, checkMissingKeys) }

func checkMissingKeys(t *testing.T) {
	p := startChild(t, "keys")
	p.Do("load")
	const fault = `"memory not readable"`
	for by, want := range map[string][]string{
		"Name": {
			`{"by":{"Name":"name"},"count":3}`,
			`{"by":{"Name":null},"count":2}`,
			`{"by":{"Name":null},"count":1,"errors":{"Name":` + fault + `}}`,
		},
		"Peer.Port": {
			`{"by":{"Peer.Port":1},"count":3}`,
			`{"by":{"Peer.Port":null},"count":2}`,
			`{"by":{"Peer.Port":null},"count":1,"errors":{"Peer.Port":` + fault + `}}`,
		},
		"Peer.Host,pid": {
			fmt.Sprintf(`{"by":{"Peer.Host":"host","pid":%d},"count":3}`, p.PID()),
			fmt.Sprintf(`{"by":{"Peer.Host":null,"pid":%d},"count":2}`, p.PID()),
			fmt.Sprintf(`{"by":{"Peer.Host":null,"pid":%d},"count":1,"errors":{"Peer.Host":%s}}`, p.PID(), fault),
		},
		// A pointer behind a pointer: either may be nil, or point to memory that
		// is gone.
		"Peer.Next.Port": {
			`{"by":{"Peer.Next.Port":2},"count":2}`,
			`{"by":{"Peer.Next.Port":null},"count":1,"errors":{"Peer.Next.Port":` + fault + `}}`,
			`{"by":{"Peer.Next.Port":null},"count":3}`,
		},
		// Nine parts have marks in two words.
		"F,F,F,F,F,F,F,Peer.Port,Peer.Next.Port": {
			`{"by":{"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"Peer.Port":1,"Peer.Next.Port":2},"count":2}`,
			`{"by":{"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"Peer.Port":1,"Peer.Next.Port":null},"count":1}`,
			`{"by":{"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"Peer.Port":null,"Peer.Next.Port":null},"count":1,"errors":{"Peer.Port":` + fault + `,"Peer.Next.Port":` + fault + `}}`,
			`{"by":{"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"F":0,"Peer.Port":null,"Peer.Next.Port":null},"count":1}`,
			`{"by":{"F":null,"F":null,"F":null,"F":null,"F":null,"F":null,"F":null,"Peer.Port":null,"Peer.Next.Port":null},"count":1}`,
		},
	} {
		t.Run(by, func(t *testing.T) {
			a := openAggregate(t, []string{"keys:record"}, attach.Count().By(strings.Split(by, ",")...), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Name"}})
			p.Do("fire")
			slices.Sort(want)
			if d := cmp.Diff(want, groupsOf(t, a)); d != "" {
				t.Errorf("groups (-want +got):\n%s", d)
			}
			if st := checkSum(t, a); st.Received != 6 {
				t.Errorf("stats %+v, want 6 received", st)
			}
		})
	}
}

// TestMissingNoted is TestMissingKeys for what a latency notes at a start.
func TestMissingNoted(t *testing.T) { everyWay(t, checkMissingNoted) }

func checkMissingNoted(t *testing.T) {
	p := startChild(t, "keys")
	p.Do("load")
	by := []string{"n", "Peer.Port", "Name", "pid", "F", "n", "G", "n", "Peer.Host", "Peer.Next.Port"}
	a, err := latencyBy(t, t.Context(), "keys:begin", "keys:finish", &attach.LatencyOptions{By: by}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Name"}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	p.Do("fire")
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, g := range groups {
		data, err := json.Marshal(total.Group{By: g.By})
		if err != nil {
			t.Fatal(err)
		}
		got[string(data)] = g.Count
	}
	const fault = `"memory not readable"`
	key := func(port, name, host, zero, next, errs string) string {
		return fmt.Sprintf(`{"by":{"n":1,"Peer.Port":%s,"Name":%s,"pid":%d,"F":%s,"n":1,"G":%s,"n":1,"Peer.Host":%s,"Peer.Next.Port":%s},"count":0%s}`, port, name, p.PID(), zero, zero, host, next, errs)
	}
	faults := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, fmt.Sprintf("%q:%s", name, fault))
		}
		return `,"errors":{` + strings.Join(all, ",") + "}"
	}
	want := map[string]uint64{
		key("1", `"name"`, `"host"`, "0", "2", ""):                                                           2,
		key("null", "null", "null", "0", "null", ""):                                                         1,
		key("1", `"name"`, `"host"`, "0", "null", ""):                                                        1,
		key("null", "null", "null", "0", "null", faults("Peer.Port", "Name", "Peer.Host", "Peer.Next.Port")): 1,
		key("null", "null", "null", "null", "null", ""):                                                      1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	if st := checkSum(t, a); st.Received != 12 {
		t.Errorf("stats %+v, want 12 received", st)
	}
}

// TestMissingOperands is TestMissingKeys for arguments of C programs.
func TestMissingOperands(t *testing.T) { eachWay(t, checkMissingOperands) }

func checkMissingOperands(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := compileC(t, "keys", "gcc", "-O1")
	const vector = `"register \"xmm0\" is a vector register, which a BPF program cannot read"`
	for _, test := range []struct {
		probe, by string
		strings   []string
		want      []string
	}{
		{"text", "arg0", []string{"arg0"}, []string{
			`{"by":{"arg0":"here"},"count":1}`,
			`{"by":{"arg0":null},"count":1,"errors":{"arg0":"memory not readable"}}`,
			`{"by":{"arg0":null},"count":1}`,
		}},
		{"text", "arg0", []string{"arg0[arg1]"}, []string{
			`{"by":{"arg0":"her"},"count":1}`,
			`{"by":{"arg0":null},"count":1,"errors":{"arg0":"its length is negative"}}`,
			`{"by":{"arg0":null},"count":1}`,
		}},
		{"memory", "arg0,arg1", nil, []string{
			`{"by":{"arg0":-7,"arg1":1},"count":1}`,
			`{"by":{"arg0":null,"arg1":2},"count":1,"errors":{"arg0":"memory not readable"}}`,
		}},
		// One probe has the argument in a register that no program reads, the other
		// in one that it does.
		{"vec*", "arg0,probe", nil, []string{
			`{"by":{"arg0":5,"probe":"keys:vec2"},"count":1}`,
			`{"by":{"arg0":null,"probe":"keys:vec1"},"count":1,"errors":{"arg0":` + vector + `}}`,
		}},
		{"vec1", "arg0", nil, []string{`{"by":{"arg0":null},"count":1,"errors":{"arg0":` + vector + `}}`}},
	} {
		t.Run(test.probe+" by "+test.by, func(t *testing.T) {
			p := start(t, exec.Command(path))
			a := openAggregate(t, []string{path + ":keys:" + test.probe}, attach.Count().By(strings.Split(test.by, ",")...), &attach.Options{Strings: test.strings})
			p.Do("")
			slices.Sort(test.want)
			if d := cmp.Diff(test.want, groupsOf(t, a)); d != "" {
				t.Errorf("groups (-want +got):\n%s", d)
			}
			if st := checkSum(t, a); st.Lost != 0 {
				t.Errorf("stats %+v, want none lost", st)
			}
		})
	}
	// An event without a value adds nothing.
	p := start(t, exec.Command(path))
	a := openAggregate(t, []string{path + ":keys:vec1"}, attach.Max("arg0"), nil)
	p.Do("")
	if got := groupsOf(t, a); len(got) > 0 {
		t.Errorf("groups %s of a value that cannot be read", got)
	}
	if st := checkSum(t, a); st.Fired != 1 || st.Lost != 1 {
		t.Errorf("stats %+v, want 1 lost", st)
	}
}

// TestZeros checks that 0 and -0 are one value, which is not negative.
func TestZeros(t *testing.T) { everyWay(t, checkZeros) }

func checkZeros(t *testing.T) {
	p := startChild(t, "keys")
	p.Do("load")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	for value, where := range map[string]string{"f": "f >= 0", "g": "!(g < 0) && g == -0.0"} {
		a := openAggregate(t, []string{"keys:zeros"}, attach.Count().By(value), opts)
		b := openAggregate(t, []string{"keys:zeros"}, attach.Hist(value).And(attach.Sum(value), attach.Min(value), attach.Max(value)), &attach.Options{Target: attach.Target{PIDs: opts.Target.PIDs}, Where: where})
		c := openAggregate(t, []string{"keys:zeros"}, attach.Hist(value).Bounds(-1, 0, 1), opts)
		p.Do("zeros")
		if d := cmp.Diff([]string{
			fmt.Sprintf(`{"by":{"%s":"NaN"},"count":2}`, value), fmt.Sprintf(`{"by":{"%s":-1},"count":1}`, value), fmt.Sprintf(`{"by":{"%s":0},"count":2}`, value),
		}, groupsOf(t, a)); d != "" {
			t.Errorf("by %s (-want +got):\n%s", value, d)
		}
		if d := cmp.Diff([]string{`{"by":{},"count":2,"sum":0,"min":0,"max":0,"hist":[{"lo":0,"hi":2.3283064365386963e-10,"n":2}]}`}, groupsOf(t, b)); d != "" {
			t.Errorf("zeros of %s (-want +got):\n%s", value, d)
		}
		if d := cmp.Diff([]string{`{"by":{},"count":3,"hist":[{"lo":-1,"hi":0,"n":1},{"lo":0,"hi":1,"n":2}]}`}, groupsOf(t, c)); d != "" {
			t.Errorf("buckets of %s (-want +got):\n%s", value, d)
		}
		a.Close()
		b.Close()
		c.Close()
	}
}

// TestGroupJSON marshals a group that has every member.
func TestGroupJSON(t *testing.T) {
	g := total.Group{
		By: []event.Arg{
			{Name: "a", Value: math.Inf(-1)}, {Name: "b", Err: event.ErrFault}, {Name: "c"},
			{Name: "d", Value: "x", Err: fmt.Errorf("%w to 1 bytes", event.ErrTruncated)},
		},
		Count: 2, Sum: math.Inf(1), Avg: math.NaN(), Min: math.Inf(-1), Max: uint64(math.MaxUint64),
		Hist: []total.Bucket{{Lo: math.Inf(-1), Hi: 0, N: 1}, {Lo: 1 << 63, Hi: math.Inf(1), N: 1}},
	}
	const want = `{"by":{"a":"-Inf","b":null,"c":null,"d":"x"},"count":2,"sum":"+Inf","avg":"NaN","min":"-Inf","max":18446744073709551615,` +
		`"hist":[{"lo":"-Inf","hi":0,"n":1},{"lo":9223372036854775808,"hi":"+Inf","n":1}],` +
		`"errors":{"b":"memory not readable","d":"truncated to 1 bytes"}}`
	for _, v := range []any{g, &g} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%T: error %v, got %s\nwant %s", v, err, got, want)
		}
	}
	if got, err := json.Marshal(g.Hist[0]); err != nil || string(got) != `{"lo":"-Inf","hi":0,"n":1}` {
		t.Errorf("a bucket is %s, error %v", got, err)
	}
}
