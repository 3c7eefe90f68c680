package attach_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestFunctionsBTF reads arguments of functions by names and types that a program has in its section .BTF,
// without DWARF, and compares them with what DWARF says of the same program.
func TestFunctionsBTF(t *testing.T) {
	shown := func(flag string, names ...string) string {
		path := build(t, "typed.c", "gcc", "-O1", flag)
		var out strings.Builder
		for _, o := range []struct {
			attach.Options
			selector string
		}{
			{attach.Options{Args: names, Where: `c.peer == "me" && h == "WRITE"`}, "uprobe:" + path + ":handle"},
			{attach.Options{Where: "c.fd > 0"}, "uprobe:" + path + ":handle"},
			{attach.Options{}, "uprobe:" + path + ":split"},
			{attach.Options{}, "uretprobe:" + path + ":split"},
		} {
			s := openAll(t, &o.Options, o.selector)
			if err := exec.Command(path).Run(); err != nil {
				t.Fatal(err)
			}
			for _, ev := range drain(t, s) {
				fmt.Fprintf(&out, "%v %s:", ev.Probe.Kind, ev.Name)
				for _, a := range ev.Args {
					if a.Err == nil && a.Name != "c" { // an address
						fmt.Fprintf(&out, " %s=%v", a.Name, a.Value)
					}
				}
				out.WriteString("\n")
			}
		}
		return out.String()
	}
	const members = "c.fd=-7 c.level=-3 c.peer=me n=-5 h=1 last=200"
	var names []string
	for _, field := range strings.Fields(members) {
		name, _, _ := strings.Cut(field, "=")
		names = append(names, name)
	}
	byBTF := shown("-gbtf", names...)
	first, _, _ := strings.Cut(byBTF, "\n")
	byDWARF, _, _ := strings.Cut(shown("-g", names...), "\n")
	if want := "uprobe handle: " + members; first != want || byDWARF != want {
		t.Errorf("got  %s\nwant %s\nby DWARF %s", first, want, byDWARF)
	}
	all := shown("-gbtf")
	if n := strings.Count(all, "handle"); n != 1 {
		t.Errorf("%d events of handle, want one without the condition that does not hold:\n%s", n, all)
	}
	for _, want := range []string{"uprobe handle: path=/x n=-5 h=1 last=200 c.peer=me\n", "uprobe split: first=-4\n", "uretprobe split: retval=2\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("all that BTF says:\n%swant %s", all, want)
		}
	}
}
