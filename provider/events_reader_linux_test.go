package provider_test

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// shownRecord has a field of each kind that declarations of C differ in.
type shownRecord struct {
	Int8   int8
	Uint16 uint16
	Float  float32
	Bool   bool
	Codes  [4]int32
	Digest [20]byte
	Grid   [2][3]uint16
	Name   string
	Names  []string
	Raw    []byte
	IDs    []uint32
	Next   *shownRecord
	Inner  struct{ A, B int }
	At     time.Time
	Took   time.Duration
	Peer   netip.Addr
	IP     net.IP
	Grids  *[4]int
}

// TestEventsDirProbes compares the probes that reader finds in an events directory with
// the probes that it finds in the process.
func TestEventsDirProbes(t *testing.T) {
	opts := options()
	opts.EventsDir = filepath.Join(t.TempDir(), "events")
	p := fresh("shown_to_reader", opts)
	defer p.Close()
	provider.NewProbe0(p, "nothing")
	provider.NewProbe4[uint64, string, []byte, time.Duration](p, "some", "id", "path", "body", "took")
	provider.NewProbe1[int](p, "twice", "a")
	provider.NewProbe1[string](p, "twice", "a")
	provider.NewProbe3[provider.IP, time.Time, provider.Hex](p, "meanings", "peer", "at", "id")
	provider.NewStructProbe[shownRecord](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	if !reader.IsEventsDir(opts.EventsDir) {
		t.Errorf("%s is not taken for an events directory", opts.EventsDir)
	}

	self, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	want := map[uint64]reader.Probe{}
	for probe, err := range self.Probes() {
		if err == nil && probe.Provider == "shown_to_reader" {
			want[probe.Live.Address] = probe
		}
	}
	if len(want) != 6 {
		t.Fatalf("the process has %d probes, want 6", len(want))
	}
	for probe, err := range reader.EventsDirProbes(opts.EventsDir) {
		if err != nil {
			t.Error(err)
			continue
		}
		other, ok := want[probe.Live.Address]
		if !ok || probe.Provider != other.Provider || probe.Name != other.Name || probe.Live.PID != os.Getpid() {
			t.Errorf("%s:%s of process %d at %#x: the process has %q there", probe.Provider, probe.Name, probe.Live.PID, probe.Live.Address, other.Name)
			continue
		}
		delete(want, probe.Live.Address)
		var got, fields []reader.Field
		if probe.Type != nil {
			got = probe.Type.Fields
		}
		if other.Type != nil {
			fields = other.Type.Fields
		}
		if diff := cmp.Diff(fields, got, cmpopts.IgnoreFields(reader.Field{}, "Type"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: fields of the process (-), of the directory (+):\n%s", probe.Name, diff)
		}
	}
	for _, missing := range want {
		t.Errorf("%s is missing", missing.Name)
	}
}
