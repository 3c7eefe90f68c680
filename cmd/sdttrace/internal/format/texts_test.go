package format

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestTexts looks at numbers of this process, and of one that has ended.
func TestTexts(t *testing.T) {
	text, number := []byte(strings.Repeat("/etc/passwd\x00", 100)), bytes.Repeat([]byte{1, 2, 3, 4, 0}, 300) // on the heap
	defer runtime.KeepAlive([][]byte{text, number})
	at := func(b []byte) uint64 { return uint64(reflect.ValueOf(b).Pointer()) }
	address := at(text)
	const ended = math.MaxInt32
	for _, c := range []struct {
		name, want string
		value      any
		pid        int
	}{
		{"arg0", "sdttrace: arg0: the address of a text, which --str arg0 shows\n", address, os.Getpid()},
		{"arg1", "sdttrace: arg1: the address of a text, which --str arg1 shows\n", int64(address), os.Getpid()},
		{"path", "", address, os.Getpid()},
		{"arg0", "", "/etc/passwd", os.Getpid()},
		{"arg0", "", uint64(77), os.Getpid()},
		{"arg0", "", at(number), os.Getpid()},
		{"arg0", "sdttrace: arg0: an address; if it is the one of a text, --str arg0 shows it\n", address, ended},
	} {
		m := Meanings{Texts: &Texts{}}
		for range 2 {
			m.Event(&event.Event{PID: c.pid, Args: []event.Arg{{Name: c.name, Value: c.value}}}, true)
		}
		var said strings.Builder
		if m.Texts.Announce(&said); said.String() != c.want {
			t.Errorf("%s=%v of process %d: %q, want %q", c.name, c.value, c.pid, &said, c.want)
		}
	}
	(*Texts)(nil).Announce(nil)

	m := Meanings{Texts: &Texts{Value: "arg1"}}
	m.Groups([]total.Group{{Min: address}, {}}, attach.Plan{{Probe: reader.Probe{Live: &reader.Live{PID: os.Getpid()}}}})
	var said strings.Builder
	if m.Texts.Announce(&said); said.String() != "sdttrace: arg1 is the address of a text, which sdttrace count --by arg1 --str arg1 shows\n" {
		t.Errorf("of groups that add up addresses: %q", &said)
	}
}
