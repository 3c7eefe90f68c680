package interop_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// fired attaches, calls fire and returns the arguments of what it fired, with so many bytes of each
// text; 0 for the default.
func fired(t *testing.T, provider string, kept int, fire func()) map[string]event.Arg {
	t.Helper()
	s, err := attach.OpenEvents(soon(t), []string{provider + ":*"}, &attach.EventOptions{MaxString: kept}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fire()
	args := map[string]event.Arg{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range ev.Args {
			args[a.Name] = a
		}
		return args
	}
	t.Fatal("no event")
	return nil
}

type (
	myInt    int16
	myFloat  float32
	myBool   bool
	myString string
	myBytes  []byte
)

// TestEveryKind checks that the extreme values of every kind of argument, and of
// types defined from them, arrive in events.
func TestEveryKind(t *testing.T) {
	need(t)
	p := provider.New("kinds", nil)
	ints := provider.NewProbe6[int, int8, myInt, int32, int64, uint](p, "ints", "a", "b", "c", "d", "e", "f")
	uints := provider.NewProbe6[uint8, uint16, uint32, uint64, uintptr, myBool](p, "uints", "a", "b", "c", "d", "e", "f")
	others := provider.NewProbe5[float64, myFloat, bool, myString, myBytes](p, "others", "a", "b", "c", "d", "e")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, tt := range []struct {
		fire func()
		want []any
	}{
		{func() {
			ints.Fire(math.MinInt, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MaxUint)
		}, []any{int64(math.MinInt64), int64(math.MinInt8), int64(math.MinInt16), int64(math.MinInt32), int64(math.MinInt64), uint64(math.MaxUint64)}},
		{func() {
			uints.Fire(math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxUint64, true)
		}, []any{uint64(math.MaxUint8), uint64(math.MaxUint16), uint64(math.MaxUint32), uint64(math.MaxUint64), uint64(math.MaxUint64), true}},
		{func() { others.Fire(math.Inf(-1), 1.5, false, "", nil) }, []any{math.Inf(-1), 1.5, false, "", []byte{}}},
		{func() { others.Fire(math.SmallestNonzeroFloat64, -0.25, true, "a\x00b\x00", []byte{0, 1, 0}) },
			[]any{math.SmallestNonzeroFloat64, -0.25, true, "a\x00b\x00", []byte{0, 1, 0}}},
	} {
		got := fired(t, "kinds", 0, tt.fire)
		for i, want := range tt.want {
			name := string(rune('a' + i))
			v := got[name].Value
			if b, ok := v.([]byte); ok && len(b) == 0 {
				v = []byte{}
			}
			if got[name].Err != nil || !reflect.DeepEqual(v, want) {
				t.Errorf("%s: got %#v (%v), want %#v", name, v, got[name].Err, want)
			}
		}
	}
}

// TestLargeArguments fires a string and bytes of 1 MiB and more.
func TestLargeArguments(t *testing.T) {
	need(t)
	p := provider.New("large", nil)
	probe := provider.NewProbe2[string, []byte](p, "probe", "text", "raw")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	text, raw := strings.Repeat("0123456789abcdef", 1<<16), bytes.Repeat([]byte{1, 2, 3, 4}, 1<<20)
	got := fired(t, "large", 4096, func() { probe.Fire(text, raw) })
	if s, _ := got["text"].Value.(string); len(s) == 0 || s != text[:len(s)] {
		t.Errorf("text: got %d bytes, want the first of it", len(s))
	}
	if b, _ := got["raw"].Value.([]byte); len(b) == 0 || !bytes.Equal(b, raw[:len(b)]) {
		t.Errorf("raw: got %d bytes, want the first of it", len(b))
	}
	for _, name := range []string{"text", "raw"} {
		if err := got[name].Err; err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: error %v, want one that says it is truncated", name, err)
		}
	}
}

type wide struct {
	F                                        [0]int
	A, B, C, D, E, G, H, I, J, K, L, M, N, O uint32
	Text                                     string
	Float                                    float64
}

// TestWideRecord fires more arguments than a note can have.
func TestWideRecord(t *testing.T) {
	need(t)
	p := provider.New("wide", nil)
	rec := provider.NewStructProbe[wide](p, "rec")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := fired(t, "wide", 0, func() {
		rec.Fire(&wide{A: 1, M: 12, N: 13, O: 14, Text: "beyond", Float: 0.5})
	})
	for name, want := range map[string]any{"A": uint64(1), "M": uint64(12), "N": uint64(13), "O": uint64(14), "Text": "beyond", "Float": 0.5} {
		if got[name].Value != want {
			t.Errorf("%s: got %v (%v), want %v", name, got[name].Value, got[name].Err, want)
		}
	}
}

// TestFork checks that a forked child which fires at a plain nop survives, though
// its parent's site is being traced.
func TestFork(t *testing.T) {
	need(t)
	exe := filepath.Join(t.TempDir(), "forker")
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/forker").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p := tracee.Start(t, exec.Command(exe))
	p.Line()
	s, err := attach.Open(t.Context(), []string{"forker:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if line, want := p.Do(""), "exited true status 7 signal signal -1"; line != want {
		t.Errorf("the child: %q, want %q", line, want)
	}
}
