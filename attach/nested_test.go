package attach_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["nested"] = tracee.Obey(nestedChild()) }

type nestedPeer struct {
	Host string
	Port uint16
	Next *nestedPeer
}

type nestedRecord struct {
	ID     uint64
	Peer   nestedPeer
	Small  struct{ A, B int32 } // as large as a number
	Scores [3]float32
	Key    [4]byte
	Names  [2]string
	Up     *nestedPeer
	Count  *int64
	Nobody *nestedPeer
	Tags   []string
	Sizes  []int32
	Peers  []nestedPeer
	Flags  []bool
	Title  *string
	Inner  struct{ Deep struct{ Text string } }
}

func nestedRecords() []*nestedRecord {
	count, title := int64(-42), "a title"
	r := &nestedRecord{
		ID: 7, Peer: nestedPeer{Host: "here", Port: 80}, Scores: [3]float32{1.5, 2, -3}, Key: [4]byte{1, 2, 3, 255},
		Names: [2]string{"one", "two"}, Up: &nestedPeer{Host: "up", Port: 8080, Next: &nestedPeer{Host: "next", Port: 9}}, Count: &count,
		Tags: []string{"x", "", "three"}, Sizes: []int32{-1, 0, 1}, Peers: []nestedPeer{{Host: "p0", Port: 1}, {Host: "p1", Port: 2}},
		Flags: []bool{true, false}, Title: &title,
	}
	r.Small.A, r.Small.B = -1, 2
	r.Inner.Deep.Text = "deep"
	r.Up.Next.Next = r.Up // round and round
	long := &nestedRecord{ID: 8, Up: &nestedPeer{Host: strings.Repeat("h", 200)}, Sizes: make([]int32, 1000), Tags: make([]string, 20)}
	return []*nestedRecord{r, {}, long, nil}
}

func nestedChild() func(string) error {
	p := provider.New("nest", nil)
	record := provider.NewStructProbe[nestedRecord](p, "record")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		for _, r := range nestedRecords() {
			record.Fire(r)
		}
		return nil
	}
}

// plain turns the arguments of an event into what encoding/json would make of
// them, and their errors into lines.
func plain(args []event.Arg, where string, errs *[]string) map[string]any {
	m := map[string]any{}
	for _, a := range args {
		m[a.Name] = plainValue(a, where+a.Name, errs)
	}
	return m
}

func plainValue(a event.Arg, where string, errs *[]string) any {
	if a.Err != nil {
		*errs = append(*errs, where+": "+a.Err.Error())
	}
	switch v := a.Value.(type) {
	case event.Struct:
		return plain(v, where+".", errs)
	case event.List:
		list := []any{}
		for i, e := range v {
			list = append(list, plainValue(e, fmt.Sprintf("%s[%d]", where, i), errs))
		}
		return list
	}
	return a.Value
}

func TestNested(t *testing.T) { sharedToo(t, checkNested) }

func checkNested(t *testing.T) {
	p := startChild(t, "nested")
	p.Do("load")
	s := openEvents(t, "nest:record", &attach.EventOptions{MaxString: 100}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Up", "nest:record:Count", "Nob*", "Title"}})
	p.Do("fire")
	events := drain(t, s)
	checkSum(t, s)
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	var errs []string
	got := plain(events[0].Args, "", &errs)
	up := got["Up"].(map[string]any)
	if next, ok := up["Next"].(uint64); !ok || next == 0 {
		t.Errorf("pointer that was not followed is %v, want an address", up["Next"])
	}
	up["Next"] = uint64(0)
	want := map[string]any{
		"ID": uint64(7), "Peer": map[string]any{"Host": "here", "Port": uint64(80), "Next": uint64(0)},
		"Small": map[string]any{"A": int64(-1), "B": int64(2)}, "Scores": []any{1.5, 2.0, -3.0}, "Key": event.Hex{1, 2, 3, 255},
		"Names": []any{"one", "two"}, "Up": map[string]any{"Host": "up", "Port": uint64(8080), "Next": uint64(0)},
		"Count": int64(-42), "Nobody": nil, "Tags": []any{"x", "", "three"}, "Sizes": []any{int64(-1), int64(0), int64(1)},
		"Peers": []any{map[string]any{"Host": "p0", "Port": uint64(1), "Next": uint64(0)}, map[string]any{"Host": "p1", "Port": uint64(2), "Next": uint64(0)}},
		"Flags": []any{true, false}, "Title": "a title", "Inner": map[string]any{"Deep": map[string]any{"Text": "deep"}},
	}
	if d := cmp.Diff(want, got); d != "" || errs != nil {
		t.Errorf("errors %q, event (-want +got):\n%s", errs, d)
	}

	errs = nil
	empty := plain(events[1].Args, "", &errs)
	if empty["Up"] != nil || empty["Count"] != nil || !reflect.DeepEqual(empty["Tags"], []any{}) || errs != nil {
		t.Errorf("empty record: %v, errors %q", empty, errs)
	}

	long := plain(events[2].Args, "", &errs)
	if n := len(long["Sizes"].([]any)); n != 25 || len(long["Tags"].([]any)) != 8 {
		t.Errorf("long record: %d sizes, tags %v", n, long["Tags"])
	}
	if d := cmp.Diff([]string{
		"Up.Host: truncated to 100 of 200 bytes", "Tags: truncated to 8 of 20 elements", "Sizes: truncated to 25 of 1000 elements",
	}, errs); d != "" {
		t.Errorf("errors of a long record (-want +got):\n%s", d)
	}

	for _, a := range events[3].Args {
		switch v := a.Value.(type) {
		case nil:
			if a.Err == nil {
				t.Errorf("argument %s of a nil record has neither value nor error", a.Name)
			}
		case event.Struct, event.List:
		default:
			t.Errorf("argument %s of a nil record is %v", a.Name, v)
		}
	}
}

// TestFollowDeep follows pointers behind pointers, round a ring of two.
func TestFollowDeep(t *testing.T) { sharedToo(t, checkFollowDeep) }

func checkFollowDeep(t *testing.T) {
	p := startChild(t, "nested")
	p.Do("load")
	s := open(t, "nest:record", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Up", "U*.Next", "U*.*.N*"}})
	p.Do("fire")
	events := drain(t, s)
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	var errs []string
	peer := plain(events[0].Args, "", &errs)["Up"]
	depth := 0
	for ; ; depth++ {
		m, ok := peer.(map[string]any)
		if !ok {
			break
		}
		if want := []string{"up", "next"}[depth%2]; m["Host"] != want {
			t.Errorf("peer %d is %v, want %s", depth, m["Host"], want)
		}
		peer = m["Next"]
	}
	if address, ok := peer.(uint64); depth != 3 || !ok || address == 0 || errs != nil {
		t.Errorf("%d peers, then %v, errors %q", depth, peer, errs)
	}
}

// TestNestedWhere compares values within structs, arrays and behind pointers, and
// groups by them.
func TestNestedWhere(t *testing.T) { sharedToo(t, checkNestedWhere) }

func checkNestedWhere(t *testing.T) {
	p := startChild(t, "nested")
	p.Do("load")
	for where, want := range map[string]int{
		`Peer.Host == "here" && Peer.Port == 80`: 1,
		`Small.B == 2`:                           1,
		`Scores[2] < -2 && Names[1] == "two"`:    1,
		`Up.Port == 8080`:                        1,
		`Up.Next.Port == 9`:                      1,
		`Up.Next.Next.Next.Next.Host == "up"`:    1,
		`Up.Host ~ "h*"`:                         1,
		`Count == -42`:                           0, // the address is compared
		`Inner.Deep.Text == "deep"`:              1,
		`ID > 0`:                                 2,
		`Up.Port != 1`:                           2, // none where Up is nil
		`Title == "a title"`:                     0,
	} {
		opts := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: where}
		if want == 0 {
			name, _, _ := strings.Cut(where, " ")
			opts.Follow = []string{name}
			want = 1
		}
		s := open(t, "nest:record", &opts)
		p.Do("fire")
		if got := len(drain(t, s)); got != want {
			t.Errorf("%s: %d events, want %d", where, got, want)
		}
	}
	for where, want := range map[string]string{
		"Peer.Name == 1":  "nest:record has no argument Peer.Name: Peer has Host, Port, Next",
		"ID.x == 1":       "ID has no fields",
		"Scores[3] == 1":  "Scores has 3 elements",
		"Sizes[0] == 1":   "Sizes is a slice",
		"Peer.Port[0]==1": "Peer.Port is not an array",
		"Scores[x == 1":   "Scores is followed by .NAME or [INDEX]",
		"Peer == 1":       "neither a number nor a string",
	} {
		if _, err := attach.Open(t.Context(), []string{"nest:record"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: where}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", where, err, want)
		}
	}
	a := openAggregate(t, []string{"nest:record"}, attach.Max("Up.Port").By("Up.Host", "Names[0]"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("fire")
	groups, err := a.Read()
	if err != nil || len(groups) != 2 {
		t.Fatalf("groups %+v, error %v, want 2", groups, err)
	}
	for _, g := range groups {
		if host := g.By[0].Value.(string); host == "up" && (g.Max != uint64(8080) || g.By[1].Value != "one") || host != "up" && len(host) != 120 {
			t.Errorf("group %+v", g)
		}
	}
	if st := checkSum(t, a); st.Lost != 2 {
		t.Errorf("stats %+v, want those without Up.Host lost", st)
	}
}
