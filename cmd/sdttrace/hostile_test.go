package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/sdtdump"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/symbols"
)

// Limits on what a verb costs for a file: CPU time, since others may use the machine; memory, the
// most that the process had at any moment; and output, as a multiple of the file beside what a page
// has of its own.
const (
	mostTime   = 3 * time.Second
	mostMemory = 1 << 30
	mostOutput = 100
	ownOutput  = 128 << 10
)

// replays are the verbs of recordings, dumps the formats of objects. FILE is written by them.
var (
	replays = []string{
		"", "--json", "--fields a", "page -o FILE", "timeline -o FILE", "timeline -o FILE --span p:n,p:n", "count",
		"count --by comm", "count --by a", "stats a --show sum", "hist a --json", "stats a.b --show avg --by pid --interval 1ms", "latency p:n p:n", "profile --span p:n,p:n",
		"latency p:n p:n --slower 1ns", "--where arg0>0 --json", "--stack", "--stack --json", "profile --format folded -o FILE", "profile -o FILE", "page --stack -o FILE",
		"count --by stack", "--max-string 8", "--limit 3", "stats a --hist --show p50,p99.9", "snapshot p:n --json", "--where comm=='x'", "count --by a.b,a[0] --interval 1s",
		"timeline --flow a --counter a -o FILE", "timeline --stack --counter a.b -o FILE", "hist a --steps 0,1000,1 --by tid", "latency p:n p:n --hist --interval 1ms --json",
		"latency p:n p:n --key a --slower 1ns --fields args --stack", "profile --weigh a --format text", "profile --by a,comm --format folded -o FILE",
		"page --span p:n,p:n:a --span p:n,p:n -o FILE", "snapshot a>=0 --before 10000 --after 10000 --every 1ns", "count --by stack,a --interval 1ms --json",
		"count --by func,module,provider,cgroup,a --max-groups 1000000", "stats a --show sum,rate,stddev --hist --interval 1ns", "--sample 2 --str a --json", "-v",
	}
	dumps = []string{"", "--json", "--format markdown", "--format bpftrace", "--format c", "--format uprobe_events", "--check", "--symbols", "--disasm"}
)

// replaying returns the arguments of a verb that reads a recording, and writes to out.
func replaying(verb int, path, out string) []string {
	return append(strings.Fields(strings.Replace(replays[verb%len(replays)], "FILE", out, 1)), "-q", "--from", path)
}

// hostile makes files of bytes.
type hostile struct {
	rest     []byte
	left     int    // bytes for the fields of a site
	recorder []byte // the file of a flight recorder, whose shared memory and objects it has
	object   []byte
}

// pick returns one of the values.
func pick[T any](h *hostile, of ...T) T {
	n := byte(0)
	if len(h.rest) > 0 {
		n, h.rest = h.rest[0], h.rest[1:]
	}
	return of[int(n)%len(of)]
}

// damaged changes words of a file.
func (h *hostile) damaged(of []byte) []byte {
	b := bytes.Clone(of)
	for len(h.rest) >= 12 && len(b) > 8 {
		at := int(binary.LittleEndian.Uint32(h.rest)) % (len(b) - 8)
		copy(b[at:at+8], h.rest[4:12])
		h.rest = h.rest[12:]
	}
	return b
}

// recording combines fields, sites, records and times.
func (h *hostile) recording(t testing.TB) []byte {
	var out bytes.Buffer
	w, err := tracefile.NewWriter(&out, &tracefile.Info{Selectors: []string{"p:n\nsdttrace: FAKE"}, Where: pick(h, "", "\x1b\n")})
	if err != nil {
		t.Fatal(err)
	}
	for number := range pick[uint32](h, 1, 2, 3, 200) {
		d := h.site(number)
		if err := w.Site(d); err != nil || out.Len() > 4<<20 {
			break
		}
	}
	for range pick(h, 1, 2, 3) {
		rec := h.record()
		at := pick[int64](h, 0, -1, 1<<62, 1<<63-1)
		for i := range pick(h, 1, 10, 1000, 20000) {
			binary.LittleEndian.PutUint64(rec[record.Time:], binary.LittleEndian.Uint64(rec[record.Time:])+uint64(i)*pick[uint64](h, 1, 0, 1<<40))
			if err := w.Add(rec, at); err != nil || w.Size() > 4<<20 {
				break
			}
		}
	}
	w.End()
	return out.Bytes()
}

var longNames = []string{"a", "b", "", "\x1b\n\u202e", strings.Repeat("n", 300), strings.Repeat("\x01", 3000)}

func (h *hostile) site(number uint32) *tracefile.Site {
	d := &tracefile.Site{Number: number, PID: pick(h, 1, 0), CarrierSlot: -1, CPU: -1, UID: -1, Carrier: pick(h, "thread", "", "call")}
	d.Probe = tracefile.Probe{Kind: "usdt", Provider: pick(h, append([]string{"p"}, longNames...)...), Name: pick(h, append([]string{"n"}, longNames...)...), Path: "/x\n", Machine: 62, Class: 2, Location: uint64(number), Offset: 1}
	d.Layout = tracefile.Layout{Slots: pick(h, 0, 1, 3), Block: pick[uint32](h, 0, 8, 512, 15360), Limit: pick(h, 0, 16, 65536), Stacks: pick(h, 0, 0, 3)}
	for i := range pick(h, 0, 1, 2) {
		d.Layout.Strings = append(d.Layout.Strings, tracefile.String{Slot: min(i, max(0, d.Layout.Slots-1))})
	}
	start := record.HeaderSize + 8*d.Layout.Slots
	size := 8 * d.Layout.Slots
	if d.Layout.Block > 0 {
		start, size = start+8, int(d.Layout.Block)
	} else {
		start = record.HeaderSize
	}
	h.left = 400 << 10
	d.Fields = h.fields(start, size, 0)
	return d
}

// fields returns fields within size bytes of a record.
func (h *hostile) fields(start, size, depth int) []tracefile.Field {
	var all []tracefile.Field
	for range pick(h, 1, 2, 5) {
		f := tracefile.Field{Name: pick(h, longNames...), Offset: start, Kind: pick(h, "uint", "int", "float", "string", "bytes", "other"), Meaning: pick(h, "", "", "time", "duration")}
		f.From = pick(h, "constant", "number", "array", "struct", "raw", "string", "chars", "slice", "counted", "pointer", "nowhere")
		if depth > 4 {
			f.From = "constant"
		}
		switch f.From {
		case "constant":
			f.Kind = "uint"
		case "nowhere":
			f.Err = pick(h, "why", strings.Repeat("\x02", 1000))
		case "number":
			f.Size = pick[uint8](h, 1, 8)
		case "raw", "chars":
			f.Count = pick(h, size, 1)
		case "array", "counted":
			f.Stride = pick(h, 1, 8)
			f.Count = max(1, size/f.Stride)
			f.Whole, f.Length = pick(h, f.Count, 0), record.HeaderSize
			f.Parts = h.fields(start, f.Stride, depth+1)[:1]
		case "slice":
			f.Stride = 1
			f.Parts = h.fields(0, 1, depth+1)[:1]
		case "pointer":
			f.Parts = h.fields(start, size, depth+1)[:1]
		case "struct":
			f.Parts = h.fields(start, size, depth+1)
		}
		for range pick(h, 1, 1, 3, 1000, 9000) {
			if h.left -= described(&f); h.left < 0 {
				return append(all, constant)
			}
			all = append(all, f)
		}
	}
	return all
}

// described returns about how many bytes describe a field.
func described(f *tracefile.Field) int {
	n := 100 + 6*len(f.Name) + 6*len(f.Err)
	for i := range f.Parts {
		n += described(&f.Parts[i])
	}
	return n
}

func (h *hostile) record() []byte {
	rec := make([]byte, record.HeaderSize+pick(h, 8, 0, 40, 512+16, 15360+40))
	copy(rec[record.Comm:], pick(h, "comm", "\x1b\n\x1b\n\x1b\n\x1b\n"))
	binary.LittleEndian.PutUint32(rec[record.Site:], pick[uint32](h, 0, 1))
	binary.LittleEndian.PutUint64(rec[record.Time:], pick[uint64](h, 1000, 0, 1<<63, 1<<64-1))
	fill, length := pick[byte](h, 0, 1, 0x80, 0xff, '"'), pick[uint64](h, 0, 100, 65536)
	body := rec[record.HeaderSize:]
	for i := range body {
		body[i] = fill
	}
	if len(body) >= 8 {
		binary.LittleEndian.PutUint64(body, length)
	}
	return append(rec, bytes.Repeat([]byte{fill}, int(length))...)
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// FuzzVerbs runs every verb over hostile files: recordings that combine fields, sites, records
// and times, files of flight recorders, which hold the shared memory and the objects of
// processes, and objects.
func FuzzVerbs(f *testing.F) {
	var h hostile
	h.recorder, h.object = samples(f)
	for verb := range max(len(replays), len(dumps)) {
		for kind := range byte(3) {
			f.Add(kind, byte(verb), []byte{})
		}
	}
	for n := range bombs {
		for verb := range replays {
			if (n+verb)%3 == 0 { // the other pairs are for fuzzing
				f.Add(byte(3), byte(verb), []byte{byte(n)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind, verb byte, data []byte) {
		h := h
		h.rest = data
		dir := t.TempDir()
		path, out := filepath.Join(dir, "in.usdt"), filepath.Join(dir, "out")
		var file []byte
		var args []string
		switch kind % 4 {
		case 0:
			file = h.recording(t)
		case 1:
			file = h.damaged(h.recorder)
		case 2:
			file = h.damaged(h.object)
		case 3:
			b := pick(&h, bombs...)
			file = h.damaged(b.file(t))
		}
		if kind%4 == 2 {
			args = append([]string{path}, strings.Fields(dumps[int(verb)%len(dumps)])...)
		} else {
			args = replaying(int(verb), path, out)
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr counter
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cost := costOf(func() {
			if kind%4 == 2 {
				sdtdump.Run(args, &stdout, &stderr)
			} else {
				run(ctx, args, &stdout, &stderr)
			}
		})
		if ctx.Err() != nil {
			t.Errorf("%q did not end", args)
		}
		wrote := stdout.n + stderr.n
		if info, err := os.Stat(out); err == nil {
			wrote += info.Size()
		}
		if most := int64(mostOutput*len(file) + ownOutput); wrote > most {
			t.Errorf("%q of %d bytes wrote %d, want at most %d", args, len(file), wrote, most)
		}
		if cost.time > mostTime || cost.memory > mostMemory {
			t.Errorf("%q of %d bytes took %v and %d MiB", args, len(file), cost.time, cost.memory>>20)
		}
	})
}

// bomb is a recording of one site whose fields make much of little.
type bomb struct {
	layout  tracefile.Layout
	field   tracefile.Field
	fields  int // how many of them there are
	record  int // bytes behind the header, the first of which are a string's length
	records int
	time    uint64
	stack   *tracefile.Stack // of each record
}

var (
	constant = tracefile.Field{From: "constant", Kind: "uint"}
	bombs    = []bomb{
		{tracefile.Layout{Block: 15360}, tracefile.Field{Name: "a", From: "array", Offset: 48, Count: 15360, Stride: 1, Whole: 15360,
			Parts: []tracefile.Field{{From: "struct", Parts: slices.Repeat([]tracefile.Field{constant}, 11000)}}}, 1, 8 + 15360, 1, 1000, nil},
		{tracefile.Layout{Slots: 1, Limit: 65536, Strings: make([]tracefile.String, 1)}, tracefile.Field{From: "string", Kind: "string"}, 9000, 8 + 65536, 20, 1000, nil},
		{tracefile.Layout{Block: 15360}, tracefile.Field{From: "raw", Offset: 48, Count: 15360}, 9000, 8 + 15360, 40, 1000, nil},
		{tracefile.Layout{}, constant, 9000, 0, 20000, 1000, nil},
		{tracefile.Layout{}, tracefile.Field{Name: strings.Repeat("\x01", 100000), From: "nowhere"}, 1, 0, 10000, 1000, nil},
		{tracefile.Layout{}, constant, 1, 0, 1, 1<<64 - 1, nil},
		{tracefile.Layout{Stacks: 254}, constant, 0, 8, 1, 1000, deepStack()},
	}
)

// deepStack returns a stack on which one address is many times. Very many functions with long
// names run there.
func deepStack() *tracefile.Stack {
	f := symbols.Frame{Func: strings.Repeat("\x01", 60000), File: strings.Repeat("f", 60000), Module: "/m"}
	return &tracefile.Stack{PCs: slices.Repeat([]uint64{0x10000}, 254), Names: slices.Repeat([][]symbols.Frame{slices.Repeat([]symbols.Frame{f}, 1000)}, 254)}
}

func (b *bomb) file(t testing.TB) []byte {
	var out bytes.Buffer
	w, err := tracefile.NewWriter(&out, &tracefile.Info{Selectors: []string{"p:n"}})
	if err != nil {
		t.Fatal(err)
	}
	d := &tracefile.Site{Number: 1, PID: 1, CarrierSlot: -1, CPU: -1, UID: -1, Layout: b.layout, Fields: slices.Repeat([]tracefile.Field{b.field}, b.fields)}
	d.Probe = tracefile.Probe{Kind: "usdt", Provider: "p", Name: "n", Path: "/x", Machine: 62, Class: 2, Location: 1, Offset: 1}
	if err := w.Site(d); err != nil {
		t.Fatal(err)
	}
	rec := make([]byte, record.HeaderSize+b.record)
	binary.LittleEndian.PutUint32(rec[record.Site:], 1)
	binary.LittleEndian.PutUint64(rec[record.Time:], b.time)
	if b.layout.Slots > 0 {
		binary.LittleEndian.PutUint64(rec[record.HeaderSize:], uint64(b.record-8))
	}
	if b.stack != nil {
		number, err := w.Stack(b.stack)
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint64(rec[len(rec)-8:], number)
	}
	for range b.records {
		if err := w.Add(rec, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples returns the file of a flight recorder and an object with probes.
func samples(t testing.TB) (recorder, object []byte) {
	dir, objects := t.TempDir(), t.TempDir()
	p := provider.New(fmt.Sprint("p", os.Getpid()), &provider.Options{Backing: provider.BackingFile, Dir: objects, FlightRecorder: &provider.FlightRecorder{Dir: dir, Size: 1 << 20}})
	type inner struct {
		B uint8
		S string
	}
	n := provider.NewProbe3[uint64, string, []byte](p, "n", "a", "b", "c")
	r := provider.NewStructProbe[struct {
		A inner
		L []inner
	}](p, "r")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(100) {
		n.Fire(i, "text", []byte{1})
		r.Fire(&struct {
			A inner
			L []inner
		}{L: make([]inner, 3)})
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return only(t, dir), only(t, objects)
}

// only returns the largest file in a directory.
func only(t testing.TB, dir string) (data []byte) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > len(data) {
			data = b
		}
	}
	if data == nil {
		t.Fatalf("%s is empty", dir)
	}
	return data
}
