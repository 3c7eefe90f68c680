package attach_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// TestArgument reads arguments by their paths, and checks which ones a session has.
func TestArgument(t *testing.T) {
	p := provider.New("argument", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewStructProbe[nestedRecord](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	s := open(t, "argument:record", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Follow: []string{"Up"}})
	probe.Fire(nestedRecords()[0])
	probe.Fire(&nestedRecord{ID: 9})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	paths := []string{"ID", "arg0", "Peer.Port", "Scores[1]", "Up.Host", "Names", "Tags", "Nothing"}
	var got []string
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			a, ok := v.Argument(path)
			got = append(got, fmt.Sprint(a.Name, " ", a.Value, " ", a.Err, " ", ok))
		}
		ev, err := v.Event()
		if err != nil {
			t.Fatal(err)
		}
		// An argument is the same, however it is asked for.
		for i := range ev.Args {
			if a, ok := v.Argument(ev.Args[i].Name); !ok || fmt.Sprint(a) != fmt.Sprint(ev.Args[i]) {
				t.Errorf("Argument(%q) is %v, %v, want %v", ev.Args[i].Name, a, ok, ev.Args[i])
			}
		}
	}
	want := []string{
		"ID 7 <nil> true", "ID 7 <nil> true", "Peer.Port 80 <nil> true", "Scores[1] 2 <nil> true", "Up.Host up <nil> true",
		"Names [{ one <nil>} { two <nil>}] <nil> true", "Tags [{ x <nil>} {  <nil>} { three <nil>}] <nil> true", " <nil> <nil> false",
		"ID 9 <nil> true", "ID 9 <nil> true", "Peer.Port 0 <nil> true", "Scores[1] 0 <nil> true", "Up.Host <nil> memory not readable true",
		"Names [{  <nil>} {  <nil>}] <nil> true", "Tags [] <nil> true", " <nil> <nil> false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	for path, want := range map[string]string{
		"ID": "", "arg1.Port": "", "Up.Port": "", "Scores[2]": "",
		"Id":        "argument:record has no argument Id: it has ID, Peer, Small, Scores, Key, Names, Up, Count, Nobody, Tags, Sizes, Peers, Flags, Title, Inner",
		"Peer.Prt":  "argument:record has no argument Peer.Prt: Peer has Host, Port, Next",
		"Count.x":   "argument:record has no argument Count.x: Count has no fields",
		"Scores[3]": "argument:record has no argument Scores[3]: Scores has 3 elements",
	} {
		if got := s.CheckArgument(path); fmt.Sprint(got) != want && (want != "" || got != nil) {
			t.Errorf("CheckArgument(%q): got %v, want %q", path, got, want)
		}
	}
}
