package attach_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["typed"] = tracee.Obey(typedChild()) }

// long is beyond every limit on strings that the tests use.
var long = strings.Repeat("0123456789", 1000)

func typedChild() func(string) error {
	p := provider.New("typed", nil)
	ints := provider.NewProbe6[int8, uint8, int16, uint16, int32, uint64](p, "ints", "a", "b", "c", "d", "e", "f")
	others := provider.NewProbe4[float32, float64, bool, int64](p, "others", "f32", "f64", "yes", "neg")
	text := provider.NewProbe3[string, []byte, uint32](p, "text", "s", "b", "n")
	bare := provider.NewProbe0(p, "bare")
	loaded := false
	return func(command string) error {
		switch command {
		case "load":
			loaded = true
			return p.Load()
		case "ints":
			ints.Fire(-8, 200, -1600, 60000, math.MinInt32, math.MaxUint64)
		case "others":
			others.Fire(1.5, math.Inf(-1), true, -1)
			others.Fire(float32(math.NaN()), math.Pi, false, 1)
		case "text":
			text.Fire("a\x00b", []byte{0, 1, 255}, 7)
			text.Fire("", nil, 8)
			text.Fire(long, []byte(long), 9)
			text.Fire("\xff", []byte{}, 10)
		case "bare":
			bare.Fire()
		case "flood":
			for i := range uint64(200_000) {
				ints.Fire(1, 2, 3, 4, int32(i), i)
				if i%64 == 0 {
					text.Fire("flood", nil, uint32(i))
				}
			}
		default:
			return fmt.Errorf("unknown command %q (loaded %t)", command, loaded)
		}
		return nil
	}
}

type arg struct {
	Name  string
	Value any
	Err   string
}

func argsOf(ev event.Event) []arg {
	var out []arg
	for _, a := range ev.Args {
		x := arg{Name: a.Name, Value: a.Value}
		if a.Err != nil {
			x.Err = a.Err.Error()
		}
		out = append(out, x)
	}
	return out
}

func TestTyped(t *testing.T) { sharedToo(t, checkTyped) }

func checkTyped(t *testing.T) {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := startChild(t, "typed")
			p.Do("load")
			s := openEvents(t, "typed:*", &attach.EventOptions{MaxString: 100}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: kind})
			if got, want := s.Plan().Attached(), 4; got != want {
				t.Fatalf("attached %d sites, want %d: %+v", got, want, s.Plan())
			}
			for _, c := range []string{"ints", "others", "text", "bare"} {
				p.Do("%s", c)
			}
			events := drain(t, s)
			var got [][]arg
			for _, ev := range events {
				if ev.PID != p.PID() || (ev.TID == 0) != (wayOf(t) == shared) || ev.Comm == "" || ev.Provider != "typed" {
					t.Errorf("event of %d/%d %q %s:%s, want process %d", ev.PID, ev.TID, ev.Comm, ev.Provider, ev.Name, p.PID())
				}
				got = append(got, argsOf(ev))
			}
			want := [][]arg{
				{{Name: "a", Value: int64(-8)}, {Name: "b", Value: uint64(200)}, {Name: "c", Value: int64(-1600)}, {Name: "d", Value: uint64(60000)},
					{Name: "e", Value: int64(math.MinInt32)}, {Name: "f", Value: uint64(math.MaxUint64)}},
				{{Name: "f32", Value: 1.5}, {Name: "f64", Value: math.Inf(-1)}, {Name: "yes", Value: true}, {Name: "neg", Value: int64(-1)}},
				{{Name: "f32", Value: math.NaN()}, {Name: "f64", Value: math.Pi}, {Name: "yes", Value: false}, {Name: "neg", Value: int64(1)}},
				{{Name: "s", Value: "a\x00b"}, {Name: "b", Value: []byte{0, 1, 255}}, {Name: "n", Value: uint64(7)}},
				{{Name: "s", Value: ""}, {Name: "b", Value: []byte{}}, {Name: "n", Value: uint64(8)}},
				{{Name: "s", Value: long[:100], Err: "truncated to 100 of 10000 bytes"}, {Name: "b", Value: []byte(long[:100]), Err: "truncated to 100 of 10000 bytes"}, {Name: "n", Value: uint64(9)}},
				{{Name: "s", Value: "\xff"}, {Name: "b", Value: []byte{}}, {Name: "n", Value: uint64(10)}},
				nil,
			}
			nan := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
			if d := cmp.Diff(want, got, nan); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if st := checkSum(t, s); st.Received != uint64(len(want)) || st.Lost != 0 {
				t.Errorf("stats %+v, want %d received", st, len(want))
			}
			if len(events) > 5 && !errors.Is(events[5].Args[0].Err, event.ErrTruncated) {
				t.Errorf("error %v of a long string does not wrap ErrTruncated", events[5].Args[0].Err)
			}
		})
	}
}

// TestFlood fills a small buffer, and accounts for every event.
func TestFlood(t *testing.T) { sharedToo(t, checkFlood) }

func checkFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("short: TestOverrun also overruns a ring")
	}
	const fired = 200_000 + 200_000/64
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read=%t", read), func(t *testing.T) {
			p := startChild(t, "typed")
			p.Do("load")
			s := openEvents(t, "typed:*", &attach.EventOptions{RingSize: 64 << 10}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			received := make(chan uint64)
			if read {
				go func() {
					var n uint64
					for range s.Events() {
						n++
					}
					received <- n
				}()
			}
			p.Do("flood")
			var n uint64
			if read {
				if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
				n = <-received
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			st := checkSum(t, s)
			if st.Fired != fired || st.Received != n {
				t.Errorf("stats %+v, want %d fired, %d received", st, fired, n)
			}
			if !read && (st.Lost == 0 || st.Unread == 0 || st.Filtered != 0) {
				t.Errorf("stats %+v of a session that was not read, want lost and unread events", st)
			}
			t.Logf("%+v", st)
		})
	}
}
