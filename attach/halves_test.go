package attach_test

import (
	"encoding/json"
	"math"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestHalves passes a struct and an __int128, of 16 bytes each, in registers
// and in memory, as compilers choose.
func TestHalves(t *testing.T) {
	for _, command := range [][]string{{"gcc", "-O2"}, {"gcc", "-O0"}, {"clang", "-O2"}} {
		t.Run(command[0]+command[1], func(t *testing.T) {
			p := start(t, exec.Command(build(t, "halves.c", command...)))
			s := openAll(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: "arg0.low == 1099511627776 && arg0.high == 2"}, "halves:fired")
			p.Do("")
			events := drain(t, s)
			if len(events) != 1 {
				t.Fatalf("got %d events, want 1: %+v", len(events), s.Plan())
			}
			want := []arg{
				{Name: "arg0", Value: event.Struct{{Name: "low", Value: uint64(1 << 40)}, {Name: "high", Value: uint64(2)}}},
				{Name: "arg1", Value: event.Struct{{Name: "low", Value: uint64(math.MaxUint64)}, {Name: "high", Value: uint64(math.MaxUint64)}}},
			}
			if d := cmp.Diff(want, argsOf(events[0])); d != "" {
				t.Errorf("arguments %s (-want +got):\n%s", events[0].Probe.Args, d)
			}
			object, err := json.Marshal(&events[0])
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Args json.RawMessage }
			if err := json.Unmarshal(object, &got); err != nil {
				t.Fatal(err)
			}
			if want := `{"arg0":{"low":1099511627776,"high":2},"arg1":{"low":18446744073709551615,"high":18446744073709551615}}`; string(got.Args) != want {
				t.Errorf("got %s, want %s", got.Args, want)
			}
		})
	}
}
