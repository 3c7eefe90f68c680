package attach_test

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// ownMemory is a record.Memory of this process.
func ownMemory(address uint64, b []byte) bool {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	return err == nil && n == len(b)
}

// TestCapture captures the argument blocks of records in this process, and compares
// what their shapes decode with what programs in the kernel have recorded.
func TestCapture(t *testing.T) {
	type captured struct {
		Nested nestedRecord
		Up     *nestedPeer
		At     time.Time
		From   netip.Addr
		Via    netip.Addr
		Took   time.Duration
		Raw    []byte
	}
	p := provider.New("capture", nil)
	probe := provider.NewStructProbe[captured](p, "fired")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const limit = 100
	follow := []string{"Up", "Nested.Up", "Nested.Nob*", "Nested.Title"}
	s := openEvents(t, "capture:fired", &attach.EventOptions{MaxString: limit}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Follow: follow})
	v4 := netip.MustParseAddr("10.0.0.1")
	records := []*captured{{Via: v4}}
	for _, r := range nestedRecords() {
		if r != nil {
			records = append(records, &captured{
				Nested: *r, Up: r.Up, At: time.Unix(1e9, 7), From: v4, Via: netip.MustParseAddr("::1"), Took: time.Minute, Raw: []byte(strings.Repeat("\x00\xff", 80)),
			})
		}
	}
	for _, r := range records {
		probe.Fire(r)
	}
	events := drain(t, s)
	if len(events) != len(records) {
		t.Fatalf("%d events, want %d", len(events), len(records))
	}
	sh, err := shape.OfBlock(events[0].Probe.Type, limit, func(pointer string) (exact, ok bool) {
		for _, f := range follow {
			match, _ := path.Match(f, pointer)
			exact, ok = exact || f == pointer, ok || match
		}
		return exact, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	d := decode.NewDecoder(func(uint32) (*shape.Shape, *reader.Probe) { return sh, events[0].Probe }, func(ns uint64) time.Time { return time.Unix(0, int64(ns)) })
	header := record.Header{Site: 1, Time: 2, PID: 3, TID: 4, Comm: "a name of many bytes"}
	var buf []byte
	for i, r := range records {
		address := func(p any) uint64 { return uint64(reflect.ValueOf(p).Pointer()) }
		block, word := make([]byte, sh.Layout.Block), make([]byte, 8)
		if !ownMemory(address(r), block) || !ownMemory(address(&v4)+16, word) {
			t.Fatal("this process cannot read its own memory")
		}
		buf = sh.Layout.Capture(buf[:0], &header, []uint64{binary.NativeEndian.Uint64(word)}, block, ownMemory)
		ev, err := d.Decode(buf)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time.UnixNano() != 2 || ev.PID != 3 || ev.TID != 4 || ev.Comm != "a name of many " {
			t.Errorf("the header is %+v", ev)
		}
		var errs, wantErrs []string
		want := plain(events[i].Args, "", &wantErrs)
		if d := cmp.Diff(want, plain(ev.Args, "", &errs), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("record %d (-kernel +here):\n%s", i, d)
		}
		if d := cmp.Diff(wantErrs, errs); d != "" {
			t.Errorf("record %d: errors (-kernel +here):\n%s", i, d)
		}
	}
}
