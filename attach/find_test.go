package attach_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
)

func TestFind(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O1")
	p := start(t, exec.Command(path))
	for _, opts := range []*attach.FindOptions{nil, {Target: attach.Target{PIDs: []int{p.PID()}}}} {
		plan, err := attach.Find(t.Context(), []string{"uprobe:" + path + ":negative", "uretprobe:" + path + ":_start"}, opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range plan {
			s := &plan[i]
			reason := ""
			if errors.Is(s.Reason, attach.ErrUnsafe) {
				reason = " unsafe"
			}
			got = append(got, s.Probe.Kind.String()+" "+s.Probe.Name+reason)
			if s.Attached || s.Offset == 0 || opts != nil && s.PID != p.PID() {
				t.Errorf("got %+v", s)
			}
		}
		if len(got) == 2 && got[0] > got[1] {
			got[0], got[1] = got[1], got[0]
		}
		if d := cmp.Diff([]string{"uprobe negative", "uretprobe _start unsafe"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if _, err := attach.Find(t.Context(), []string{"uprobe:" + path + ":nobody"}, nil); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("got %v, want that nothing matches", err)
	}
}
