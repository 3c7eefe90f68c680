package attach_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

type (
	traceID [16]byte
	spanID  [8]byte
	bytesIn struct{ ID spanID }

	// Times is a field with a name of its own beside the promoted ones.
	Times  struct{ Took, Wait time.Duration }
	hidden struct {
		Shown int
		not   int
		Wait  int // ambiguous with Times
	}
	bytesRecord struct {
		Trace traceID
		Span  spanID `usdt:"span"`
		Times
		hidden
		*bytesIn
		private int
		Tagged  int    `usdt:"tagged"`
		secret  int8   `usdt:"secret"`
		Skipped string `usdt:"-"`

		Raw      [3]byte         `usdt:",bytes"`
		Name     [8]byte         `usdt:"name,text"`
		Body     []byte          `usdt:"text"`
		Sum      []byte          `usdt:"hex"`
		Key      string          `usdt:",hex"`
		Doc      json.RawMessage `usdt:"doc"`
		Peer     net.IP
		Peers    []net.IP
		Spans    []spanID
		Ring     [2][2]spanID
		Empty    [0]byte
		None     [0]int32
		Void     struct{}
		Addr     netip.AddrPort
		Elements []provider.Hex
		Text     provider.UTF8
	}
)

// bytesProvider declares probes whose arguments are bytes of every kind, and returns a
// function that fires them.
func bytesProvider(t *testing.T, o *provider.Options) (p *provider.Provider, fire func()) {
	p = provider.New("bytes", o)
	t.Cleanup(func() { p.Close() })
	ids := provider.NewProbe6[traceID, spanID, [0]byte, [1]byte, [64]byte, int](p, "ids", "trace", "span", "none", "one", "most", "n")
	others := provider.NewProbe5[provider.Hex, provider.UTF8, json.RawMessage, net.IP, []byte](p, "others", "hex", "text", "doc", "ip", "raw")
	record := provider.NewStructProbe[bytesRecord](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	trace, span := traceID{0x8c, 0x17, 15: 0xff}, spanID{1, 2, 3, 4, 5, 6, 7, 8}
	ip := net.ParseIP("10.0.0.1")
	r := &bytesRecord{
		Trace: trace, Span: span, Times: Times{time.Second, 2}, hidden: hidden{Shown: 3, not: 1}, bytesIn: &bytesIn{span}, private: 4, Tagged: 5, secret: -6, Skipped: "no",
		Raw: [3]byte{'r', 0, 0xff}, Name: [8]byte{'n', 'a'}, Body: []byte("bo\ndy"), Sum: []byte{0xca, 0xfe}, Key: "\x00k", Doc: json.RawMessage(`{"a":1}`),
		Peer: ip, Peers: []net.IP{ip, ip.To4(), net.IPv6loopback, nil}, Spans: []spanID{span, {}}, Ring: [2][2]spanID{{span}, {{}, span}},
		Addr: netip.MustParseAddrPort("10.0.0.2:80"), Elements: []provider.Hex{{1}, nil}, Text: provider.UTF8("ü"),
	}
	return p, func() {
		ids.Fire(trace, span, [0]byte{}, [1]byte{9}, [64]byte{63: 1}, 7)
		ids.Fire(traceID{}, spanID{}, [0]byte{}, [1]byte{}, [64]byte{}, 8)
		others.Fire(provider.Hex{0xab}, provider.UTF8("text"), json.RawMessage("[]"), ip, []byte("raw"))
		others.Fire(nil, nil, nil, nil, nil)
		others.Fire(nil, provider.UTF8(strings.Repeat("é", 600)), nil, net.IPv6loopback, nil)
		record.Fire(r)
	}
}

var bytesWant = []string{
	`{"trace":"8c1700000000000000000000000000ff","span":"0102030405060708","none":"","one":"09","most":"` + strings.Repeat("00", 63) + `01","n":7}`,
	`{"trace":"00000000000000000000000000000000","span":"0000000000000000","none":"","one":"00","most":"` + strings.Repeat("00", 64) + `","n":8}`,
	`{"hex":"ab","text":"text","doc":"[]","ip":"10.0.0.1","raw":"cmF3"}`,
	`{"hex":"","text":"","doc":"","ip":null,"raw":""}`,
	`{"hex":"","text":"` + strings.Repeat("é", 100) + `","doc":"","ip":"::1","raw":""}`,
	`{"Trace":"8c1700000000000000000000000000ff","span":"0102030405060708","Took":1000000000,"Shown":3,"bytesIn":0,"tagged":5,"secret":-6,` +
		`"Raw":"cgD/","name":"na","Body":"bo\ndy","Sum":"cafe","Key":"006b","doc":"{\"a\":1}","Peer":"10.0.0.1","Peers":["10.0.0.1","10.0.0.1","::1",null],` +
		`"Spans":["0102030405060708","0000000000000000"],"Ring":[["0102030405060708","0000000000000000"],["0000000000000000","0102030405060708"]],` +
		`"Empty":"","None":[],"Void":{},"Addr":{"ip":"10.0.0.2","port":80},"Elements":["01",""],"Text":"ü"}`,
}

// bytesOf returns the arguments of events, without pointers.
func bytesOf(events []event.Event) (all []string) {
	for _, ev := range events {
		for i := range ev.Args {
			if ev.Args[i].Name == "bytesIn" {
				ev.Args[i].Value = uint64(0)
			}
		}
		all = append(all, string(event.Struct(ev.Args).AppendJSON(nil)))
	}
	return all
}

// TestBytes fires arrays, identifiers, texts and addresses that are bytes, and compares what
// the kernel's tracers, local ones, tests, recorders and files get of them.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	p, fire := bytesProvider(t, &provider.Options{Local: true, FlightRecorder: &provider.FlightRecorder{Dir: dir}})
	o := own()
	what := &attach.EventOptions{MaxString: 200}
	two := both(t, o, func(o *attach.Options) (*attach.Session, error) {
		return attach.OpenEvents(t.Context(), []string{"bytes:*"}, what, o)
	})
	for _, s := range two {
		defer s.Close()
	}
	kernel := o
	kernel.Target.Via = attach.ViaKernel
	saved := startRecordOf(t, []string{"bytes:*"}, &attach.RecordOptions{MaxString: 200}, &kernel)
	rec := providertest.Record(t, p)
	fire()
	ways := map[string][]event.Event{"kernel": drain(t, two[0]), "local": drain(t, two[1]), "test": fired.Traced(rec.All())}
	files, err := filepath.Glob(filepath.Join(dir, "*.usdt"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	ways["recorder"], _ = replayEvents(t, "bytes:*", what, attach.Options{}, files...)
	again := saved.end(t)
	ways["file"], _ = replay(t, "bytes:*", attach.Options{}, again.Target.Recordings...)
	for way, events := range ways {
		want := bytesWant
		if way == "test" { // which gets texts whole
			want = slices.Clone(want)
			want[4] = strings.Replace(want[4], "é", strings.Repeat("é", 501), 1)
		}
		if d := cmp.Diff(want, bytesOf(events)); d != "" {
			t.Errorf("%s (-want):\n%s", way, d)
		}
	}
}

// TestBytesCompared compares bytes with constants, and groups events by them, both ways.
func TestBytesCompared(t *testing.T) {
	_, fire := bytesProvider(t, &provider.Options{Local: true})
	for _, test := range []struct {
		probe, where, by, want string
	}{
		{"ids", `trace == "8c1700000000000000000000000000ff"`, "trace", `{"trace":"8c1700000000000000000000000000ff"}`},
		{"ids", `trace == "8C170000-0000-0000-0000-0000000000FF" && n == 7`, "span", `{"span":"0102030405060708"}`},
		{"ids", `trace ~ "8c17*ff"`, "n", `{"n":7}`},
		{"ids", `trace != "8c1700000000000000000000000000ff"`, "one", `{"one":"00"}`},
		{"ids", `span == "01:02:03:04:05:06:07:08"`, "none", `{"none":""}`},
		{"ids", `one == "0x09"`, "most", `{"most":"` + strings.Repeat("00", 63) + `01"}`},
		{"others", `ip == 10.0.0.1`, "ip", `{"ip":"10.0.0.1"}`},
		{"others", `ip == "::ffff:10.0.0.1" || hex == "ab"`, "hex", `{"hex":"ab"}`},
		{"others", `doc == "[]" && text ~ "t*"`, "doc", `{"doc":"[]"}`},
		{"record", `Trace == "8c1700000000000000000000000000ff"`, "Trace", `{"Trace":"8c1700000000000000000000000000ff"}`},
		{"record", `span ~ "0102*" && Trace ~ "*00ff"`, "span", `{"span":"0102030405060708"}`},
		{"record", `name == "na"`, "name", `{"name":"na"}`},
		{"record", `name ~ "n*" && Raw != ""`, "name[:1]", `{"name[:1]":"n"}`},
		{"record", `Peer == 10.0.0.1 && Peer != "::1"`, "Peer", `{"Peer":"10.0.0.1"}`},
		{"record", `Peer == "::ffff:10.0.0.1"`, "Sum", `{"Sum":"cafe"}`},
		{"record", `Ring[1][1] == "0102030405060708" && Ring[0][1] != "01"`, "Ring[0][0]", `{"Ring[0][0]":"0102030405060708"}`},
		{"record", `bytesIn.ID == "0102030405060708"`, "bytesIn.ID", `{"bytesIn.ID":"0102030405060708"}`},
		{"record", `Key == "006b" && Empty == ""`, "Key", `{"Key":"006b"}`},
		{"record", `Took == 1s && Shown == 3 && secret == -6`, "Empty", `{"Empty":""}`},
	} {
		o := own()
		o.Where = test.where
		two := both(t, o, func(o *attach.Options) (*attach.Aggregate, error) {
			return attach.OpenAggregate(t.Context(), []string{"bytes:" + test.probe}, attach.Count().By(test.by), o)
		})
		fire()
		for i, a := range two {
			if err := a.Stop(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range readGroups(t, a) {
				got = append(got, string(event.Struct(g.By).AppendJSON(nil)))
			}
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("%s, %s by %s, way %d: %s, want %s", test.probe, test.where, test.by, i, got, test.want)
			}
			a.Close()
		}
	}
}

// TestBytesRefused checks what is said of comparisons that make no sense.
func TestBytesRefused(t *testing.T) {
	_, _ = bytesProvider(t, &provider.Options{Local: true})
	for where, want := range map[string]string{
		`trace == "8c1"`:  "hexadecimal digits",
		`trace == "x"`:    "hexadecimal digits",
		`trace == 8`:      "trace is an identifier",
		`trace > "8c"`:    "identifiers are compared by ==, != and ~ only",
		`trace == 10ms`:   "trace is an identifier",
		`trace == "8*"`:   "hexadecimal digits",
		`trace && n == 1`: "an identifier, not a condition",
	} {
		o := own()
		o.Target.PIDs, o.Where, o.Target.Via = []int{os.Getpid()}, where, attach.ViaLocal
		s, err := attach.Open(t.Context(), []string{"bytes:ids"}, &o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
	}
}
