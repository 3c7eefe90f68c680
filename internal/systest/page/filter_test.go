package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// shown has arguments of every kind.
type shown struct {
	ID     uint64
	Small  int8
	Wide   int64
	Huge   uint64
	Real   float64
	Narrow float32
	Is     bool
	Text   string
	Took   time.Duration
	At     time.Time
	Addr   netip.Addr
	Trace  [4]byte
	Peer   struct {
		Port uint16
		Host string
	}
	Scores [3]int32
}

// kinds fires events of all kinds of arguments.
func kinds(args []string) error {
	p := provider.New(args[0], nil)
	all := provider.NewStructProbe[shown](p, "all")
	some := provider.NewProbe2[uint64, string](p, "some", "ID", "note")
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()
	fmt.Println("ready")
	var line string
	fmt.Scanln(&line)
	texts := []string{"", "/api/order", "/api/items", `say "hi"`, "\xff\xfe\x00x", "größe", "😀\U000E0001", "a*b", `back\slash`, strings.Repeat("x", 512), strings.Repeat("x", 513), strings.Repeat("y", 700) + "end"}
	addrs := []string{"10.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1:2"}
	begin := time.Date(2026, 1, 31, 12, 0, 0, 5, time.UTC)
	for id := range uint64(44) {
		n := int64(id)
		s := shown{
			ID: id, Small: int8(n - 20), Wide: (n - 20) << 55, Huge: math.MaxUint64 - id, Real: float64(n-20) / 10, Narrow: float32(n-20) / 10,
			Is: id%2 == 0, Text: texts[id%uint64(len(texts))], Took: time.Duration(n-5) * time.Millisecond, At: begin.Add(time.Duration(n) * time.Hour),
			Addr: netip.MustParseAddr(addrs[id%4]), Trace: [4]byte{0x8c, 0x17, byte(id), 0},
			Scores: [3]int32{int32(n), -int32(n), 7},
		}
		s.Peer.Port, s.Peer.Host = uint16(80+id%3), texts[id%3]
		switch id {
		case 40:
			s.Real, s.Narrow = math.NaN(), float32(math.NaN())
		case 41:
			s.Real, s.At, s.Addr = math.Inf(1), time.Time{}, netip.Addr{}
		}
		all.Fire(&s)
		some.Fire(id, s.Text)
	}
	fmt.Println("served")
	return nil
}

// conditions are tried by both. Values are of every kind, at and beyond their bounds.
var conditions = strings.Split(strings.TrimSpace(`
ID == 7
7 == ID
ID != 7 && ID < 10
ID<3||ID>=40
!(ID < 40)
!!Is && ID < 5
!Is
Is == true || Is != true
Is == false && note == ""
ID >= 0x28
ID < 0b101 || ID == 0o17 || ID == 017
ID < 1_0
ID > -1
ID == -1
ID < 18446744073709551615
ID < 18446744073709551616
Small < -19
Small == -20
Small >= 128
Small > -129
Wide < 0
Wide == -9223372036854775808
Wide > 9223372036854775807
Wide < 9223372036854775808
Wide < -9223372036854775809
Huge > 9223372036854775807
Huge == 18446744073709551615
Huge - 18446744073709551600 < 10
Huge % 10 == 5
Huge >> 60 == 15
Huge << 1 > 5
Huge + 1 == 0
Huge * Huge == 1
Real == 0.1
Real < -0.5
Real <= 1e-1
Real != 0.5
Real > +Inf || Real < -inf
Real >= +inf
Real == -0.0
Real == 1
Narrow == 0.1
Narrow < -0.3
Narrow != 0.7
Narrow >= 1e39
Real == 0x1p-1
Text == ""
Text == "/api/order"
Text ~ "/api/*"
Text ~ "*order"
Text ~ "*i*e*"
Text ~ "*"
Text ~ "a\\*b"
Text ~ "a*b"
Text == "a*b"
Text != "/api/order"
Text == 'say "hi"'
Text == "say \"hi\""
Text ~ "\xff\xfe\x00*"
Text == "größe"
Text == "gr\u00f6\u00dfe"
Text == "\U0001F600\U000e0001"
Text ~ "*\U000E0001"
Text == "back\\slash"
Text ~ "back\\*"
Text ~ "xxx*"
Text ~ "*xxx"
Text ~ "yyy*"
Text ~ "yyy*end"
Text[:4] == "/api"
Text[:4] ~ "*i"
Text[:3] != "/ap"
Text[:512] ~ "x*"
Text[:0] == ""
Text[:513] == ""
Text > "a"
Took > 10ms
Took >= 10ms && Took < "20ms"
Took == 0
Took < -1ms
Took > 1h2m3.5s
Took > 1.5ms && Took < 2500us
Took / 1ms == 7
Took % 10ms == 3ms
Took * 2 > 60ms
Took - 5ms < 0s
Took > 5000000
5ms + 5ms <= Took
At > 2026-01-31
At >= 2026-02-01T00:00 && At < "2026-02-01 06:00"
At == "2026-01-31T12:00:00.000000005Z"
At < 2026-01-31T14:00:00+01:00
At < 1970-01-01
At == "0001-01-01T00:00:00Z"
At > 2026-02-30
At > "tomorrow"
Addr == 10.0.0.1
Addr != 10.0.0.1
Addr == "::1"
Addr == "::ffff:10.0.0.1"
Addr == "fe80::1:2" || Addr == "fe80:0:0:0:0:0:1:2"
Addr == "::ffff:0a00:0001"
Addr < 10.0.0.1
Addr == "fe80::1%eth0"
Addr == "1:2:3"
Trace == "8c170500"
Trace ~ "8c17*"
Trace ~ "*0300"
Trace == "8c:17:05:00"
Trace == "0x8C17-0500"
Trace != "8c170500"
Trace == "8c1"
Trace == 5
Peer.Port == 81
Peer.Host ~ "*items" && Peer.Port > 80
Peer.Port & 1 != 0
Peer == 1
Peer.Nothing == 1
Scores[0] > 40
Scores[1] < -41
Scores[2] == 7 && Scores[0] == 3
Scores[3] == 1
Scores == 1
ID & 3 == 1
ID % 7 == 3 && ID / 7 >= 3
(ID + 1) * 2 - 1 > 80
ID - 5 > 0
ID - 5 < 0 && Small + 1 == -18
-Small == 20
-ID == -3
-(ID) < -41
ID % (ID - ID) == 0
ID / 0 == 1
1 / 0 == ID
2 + 3 * 4 == ID
ID == 1 << 3
ID >> 65 == 0
Small >> 1 == -10
Small >> 70 == -1
ID << 64 == 0
Took * Took > 0
Real + 1 > 0
Text + 1 > 0
note ~ "/api/*"
note == Text
some
Is && note
pid > 0 && ID == 1
comm ~ "page.test*" && ID == 2
comm == ""
unknown == 1
unknown == 1 || ID == 1
ID == 1 || unknown == 1
ID = 5
ID == 5 | ID == 6
ID == 5 & ID == 6
ID
5
"text" == ID
ID == "text"
ID == true
Is == 1
ID ~ "5"
"a*" ~ Text
(ID == 5
ID == 5)
ID == (5)
(ID == 5) == 6
((ID)) == ((2 + 3))
ID == 5 ID == 6
ID ==
== 5
&& ID == 5
ID == 5 &&
ID == 5 # 6
Text == "open
Text == "\q"
Text == "\400"
Text == "\'"
Text == "\ud800"
ID == 5x
ID == 1e999
ID == 1.2.3
ID == 1.5
ID - 1000 - 10 < 0
sql(Text) == "x"
sql(Text
Text[:4
Text[4] == "x"
Scores[x] == 1
ID @ 5
ID == nan
ID == +nan
ID == 08
ID == 0x
ID == 0xg
ID == 1__0
Took > 5xs
Took > .5ms
Took > 5.ms
Took == 1m1m
`), "\n")

// matched is which events a condition selects, by their IDs, or why it cannot.
type matched struct {
	IDs   []uint64
	Error string
}

// selected returns what --where selects of a recording.
func selected(t *testing.T, file, where string) (m matched) {
	opts := &attach.Options{Target: attach.Target{Recordings: []string{file}}, Where: where}
	if err := opts.Validate(); err != nil {
		var wrong *attach.WhereError
		if !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", where, err)
		}
		_, text, _ := strings.Cut(err.Error(), ", column ")
		return matched{Error: "column " + text}
	}
	s, err := attach.Open(t.Context(), []string{"*:*"}, opts)
	if err != nil {
		return matched{Error: "-"}
	}
	defer s.Close()
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return matched{Error: "-"}
		}
		m.IDs = append(m.IDs, ev.Args[0].Value.(uint64))
	}
	slices.Sort(m.IDs)
	return m
}

// inPage evaluates conditions, in parts as the filter does.
const inPage = `(all => all.map(text => {
  try {
    const parsed = parseCondition(text), IDs = [];
    testsOf(noBlock, parsed);
    for (const [b, block] of trace.blocks.entries()) {
      const tests = testsOf(block, parsed);
      for (let row = 0; row < block.rows; row++) {
        if (tests[block.probes[row]]?.(row)) IDs.push(Number(trace.value(trace.event(trace.starts[b] + row), 0)));
      }
    }
    return { IDs: IDs.sort((a, b) => a - b) };
  } catch (e) {
    return { Error: e.message };
  }
}))(%s)`

// TestFilterLanguage checks that the filter of a page selects the events that --where selects, and
// refuses what --where refuses, in the same words where the condition itself is wrong.
func TestFilterLanguage(t *testing.T) {
	dir := t.TempDir()
	program := tracee.Self("kinds", "page_kinds")
	program.Env = append(program.Environ(), "USDT_RECORDER="+dir+",1M")
	tracee.Start(t, program).Ready().Do("go")
	files, err := filepath.Glob(filepath.Join(dir, "*.usdt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings %q, %v", files, err)
	}
	page := file(t)
	needs.Run(t, build(t), "page", "-o", page, "--from", files[0])
	b := open(t, page)
	input, err := json.Marshal(conditions)
	if err != nil {
		t.Fatal(err)
	}
	results := get[[]matched](b, fmt.Sprintf(inPage, input))
	some := 0
	for i, where := range conditions {
		got, want := results[i], selected(t, files[0], where)
		switch {
		case (got.Error == "") != (want.Error == ""), strings.HasPrefix(want.Error, "column") && got.Error != want.Error:
			t.Errorf("%s: the page says %q, --where %q", where, got.Error, want.Error)
		case !slices.Equal(got.IDs, want.IDs):
			t.Errorf("%s: the page selects %d, --where %d", where, got.IDs, want.IDs)
		case len(got.IDs) > 0 && len(got.IDs) < 88:
			some++
		}
	}
	if some < 60 {
		t.Errorf("only %d conditions select some events", some)
	}
}
