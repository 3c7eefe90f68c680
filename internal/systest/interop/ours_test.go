package interop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// ourRows use this module's reader and attacher, for comparison.
func ourRows() []row {
	return []row{
		{
			name: "`reader`", want: func(s shape) string { return s.note },
			use: func(t *testing.T, p *process) (map[string]string, string) {
				got := map[string]string{}
				for name, probe := range p.probes {
					got[name] = probe.Args
				}
				return got, ""
			},
		},
		{
			name: "`attach`",
			want: func(s shape) string {
				if s.name == "record" {
					return "7 -2 /index.html 8080" // the length is part of the string
				}
				return strings.Replace(s.values, "h\xc3\xa9llo 1", "h\xc3\xa9llo true", 1)
			},
			use: func(t *testing.T, p *process) (map[string]string, string) {
				got := events(t, p.pid, p.provider, nil)
				return got, fmt.Sprint(got)
			},
		},
	}
}

// events returns the arguments of the first event of each shape in a process.
func events(t *testing.T, pid int, provider string, texts []string) map[string]string {
	t.Helper()
	s, err := attach.Open(soon(t), []string{provider + ":*"}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}, Strings: texts})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := map[string]string{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := got[ev.Name]; !ok {
			got[ev.Name] = printed(ev.Args)
		}
		if len(got) == len(shapes) {
			break
		}
	}
	return got
}

// printed returns the arguments' values, or their errors.
func printed(args []event.Arg) string {
	var values []string
	for _, a := range args {
		if a.Err != nil {
			values = append(values, "error: "+a.Err.Error())
		} else if members, ok := a.Value.(event.Struct); ok {
			values = append(values, printed(members))
		} else {
			values = append(values, fmt.Sprint(a.Value))
		}
	}
	return strings.Join(values, " ")
}
