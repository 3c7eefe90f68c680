package list

import (
	"strings"
	"testing"
)

// TestRemarkShared checks what is said of probes that have one address.
func TestRemarkShared(t *testing.T) {
	var said strings.Builder
	l := List{}
	for _, p := range []Probe{
		{PID: 1, Address: 8, Provider: "p", Name: "x"}, {PID: 1, Address: 8, Provider: "p", Name: "y"}, {PID: 1, Address: 8, Provider: "p", Name: "y"},
		{PID: 1, Address: 9, Provider: "p", Name: "z"}, {PID: 1, Address: 9, Provider: "p", Name: "z"},
		{PID: 2, Address: 8, Provider: "p", Name: "x"}, {PID: 2, Address: 10, Provider: "p", Name: "y"},
	} {
		p.Path = "/a"
		l.Probes = append(l.Probes, p)
	}
	l.RemarkShared(&said)
	want := "sdttrace: p:x and p:y of /a are at one address: an event there counts for each\nsdttrace: p:z of /a has two notes at one address: it is traced once there\n"
	if said.String() != want {
		t.Errorf("it says\n%swant\n%s", said.String(), want)
	}
}
