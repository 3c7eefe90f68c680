package attach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["fault"] = tracee.Obey(faultChild()) }

type faultRecord struct {
	ID    uint64
	Name  *string
	Peer  *faultPeer
	Own   string
	Tags  []string
	Sizes []int32
}

type faultPeer struct {
	Host  string
	Raw   []byte
	Names []string
	Sizes []int32
	Port  uint16
}

// faultChild fires pointers to memory that nobody can read.
func faultChild() func(string) error {
	p := provider.New("fault", nil)
	record := provider.NewStructProbe[faultRecord](p, "record")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		beyond := unsafe.Pointer(unsafe.SliceData(page))
		name := "name"
		record.Fire(&faultRecord{ID: 1, Name: &name, Peer: &faultPeer{Host: "host", Raw: []byte{1}, Names: []string{"a"}, Sizes: []int32{3}, Port: 4}, Own: "own"})
		record.Fire(&faultRecord{ID: 2, Name: (*string)(beyond), Peer: (*faultPeer)(beyond)})
		record.Fire(&faultRecord{ID: 3})
		record.Fire(nil)
		return unix.Munmap(page)
	}
}

// TestFault checks that an argument in unreadable memory is an error, and not an
// empty text or slice.
func TestFault(t *testing.T) {
	p := startChild(t, "fault")
	p.Do("load")
	opts := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Name", "Peer"}}
	s := open(t, "fault:record", &opts)
	p.Do("fire")
	const fault, none = "memory not readable", "the record is nil"
	wants := []struct {
		json   string
		lookup map[string]string // text, or the error
	}{
		{
			`"args":{"ID":1,"Name":"name","Peer":{"Host":"host","Raw":"AQ==","Names":["a"],"Sizes":[3],"Port":4},"Own":"own","Tags":[],"Sizes":[]}}`,
			map[string]string{"Name": "name", "Peer.Host": "host", "Own": "own", "Peer.Sizes": "", "Tags": ""},
		},
		{
			`"args":{"ID":2,"Name":null,"Peer":null,"Own":"","Tags":[],"Sizes":[]},"errors":{"Name":"F","Peer":"F"}}`,
			map[string]string{"Name": fault, "Peer.Host": fault, "Peer.Raw": fault, "Peer.Names": fault, "Peer.Sizes": fault, "Own": "", "Tags": ""},
		},
		{
			`"args":{"ID":3,"Name":null,"Peer":null,"Own":"","Tags":[],"Sizes":[]}}`,
			map[string]string{"Name": "", "Peer": "", "Peer.Host": fault, "Own": ""},
		},
		{
			`"args":null}`,
			map[string]string{"ID": none, "Name": none, "Peer.Host": none, "Own": none, "Tags": none, "Sizes": none},
		},
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		if n == len(wants) {
			t.Fatalf("more than %d events", n)
		}
		want := wants[n]
		n++
		ev, err := v.Event()
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(want.json, `:"F"`, `:"`+fault+`"`); !strings.HasSuffix(string(data), want) {
			t.Errorf("event %d is %s\nwant %s", n, data, want)
		}
		got := map[string]string{}
		for path := range want.lookup {
			value, ok := v.Lookup(path)
			got[path] = string(value.Bytes())
			if !ok || value.Err != nil {
				got[path] = fmt.Sprint(value.Err)
			}
			if value.Err != nil && (!errors.Is(value.Err, event.ErrFault) || value.Kind != 0) {
				t.Errorf("event %d: %s is %+v", n, path, value)
			}
		}
		if d := cmp.Diff(want.lookup, got); d != "" {
			t.Errorf("event %d, values by path (-want +got):\n%s", n, d)
		}
	}
	if n != len(wants) {
		t.Errorf("%d events, want %d", n, len(wants))
	}
	checkSum(t, s)
}
