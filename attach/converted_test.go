package attach_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// phase is a number with a String method; that of ticket panics.
type phase int

func (p phase) String() string { return [...]string{"new", "ready"}[p] }

type ticket struct{ number int }

func (t *ticket) String() string { return fmt.Sprint("ticket ", t.number) }

// TestTexts checks that errors, Stringers and the results of converters arrive as
// text, and what arrives when they panic.
func TestTexts(t *testing.T) {
	p := provider.New("texts", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe4[uint64, provider.Text, provider.Text, provider.Text](p, "done", "id", "err", "phase", "more")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	fire := func() {
		hex := func(n int) string { return fmt.Sprintf("%#x", n) }
		probe.Fire(0, provider.Error(nil), provider.Stringer(phase(1)), provider.As(31, hex))
		probe.Fire(1, provider.Error(fmt.Errorf("read: %w", os.ErrNotExist)), provider.Stringer(phase(2)), provider.Text{})
		probe.Fire(2, provider.Error(errors.New("")), provider.Stringer((*ticket)(nil)), provider.As(0, func(int) string { panic("no") }))
		probe.Fire(3, provider.Error((*os.PathError)(nil)), provider.Stringer(&ticket{7}), provider.As(0, (func(int) string)(nil)))
	}
	const missing = "runtime error: invalid memory address or nil pointer dereference"
	want := []string{
		"[0  ready 0x1f]",
		"[1 read: file does not exist %!v(PANIC=String method: runtime error: index out of range [2] with length 2) ]",
		"[2  <nil> %!v(PANIC=As: no)]",
		"[3 <nil> ticket 7 %!v(PANIC=As: " + missing + ")]",
	}
	options := attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}}
	s := open(t, "texts:done", &options)
	options.Where = `err ~ "*not exist"`
	failed := open(t, "texts:done", &options)
	fire()
	checkValues(t, drain(t, s), want)
	checkValues(t, drain(t, failed), want[1:2])
}

// checkValues compares the values of all arguments of events.
func checkValues(t *testing.T, events []event.Event, want []string) {
	t.Helper()
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d", len(events), len(want))
	}
	for i, ev := range events {
		if got := fmt.Sprint(values(ev.Args)); got != want[i] {
			t.Errorf("event %d: %s\nwant %s", i, got, want[i])
		}
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Errorf("event %d, %s: %v", i, a.Name, a.Err)
			}
		}
	}
}

type instant time.Time

// TestRecordTexts checks the texts in a record, and fields of a type defined from
// time.Time.
func TestRecordTexts(t *testing.T) {
	type part struct {
		Status provider.Text
		At     instant
	}
	type request struct {
		ID    uint64
		Err   provider.Text
		Body  []byte
		Part  part
		Each  [2]provider.Text
		Parts [2]part
		From  netip.Addr
		Hosts []netip.Addr
		Next  *int
	}
	p := provider.New("recordtexts", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewStructProbe[request](p, "done")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	options := attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Follow: []string{"Next"}}
	s := open(t, "recordtexts:done", &options)
	options.Where = `Part.Status == "ready" && Parts[1].Status == "ready" && From == 10.0.0.1 && Part.At == 2026-01-01`
	ready := open(t, "recordtexts:done", &options)

	at := instant(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	from := netip.MustParseAddr("10.0.0.1")
	body, next := [3]byte{1, 2, 3}, 9
	r := request{
		ID: 1, Err: provider.Error(os.ErrClosed), Body: body[:], Part: part{provider.Stringer(phase(1)), at},
		Each:  [2]provider.Text{provider.Stringer(phase(0)), provider.Stringer(phase(3))},
		Parts: [2]part{{provider.Stringer(phase(0)), at}, {provider.Stringer(phase(1)), at}},
		From:  from, Hosts: []netip.Addr{from, {}}, Next: &next,
	}
	probe.Fire(&r)
	probe.Fire(&r) // is as it was
	probe.Fire(&request{})
	const whole = "[1 file already closed [1 2 3] [ready 2026-01-01 00:00:00 +0000 UTC]" +
		" [new %!v(PANIC=String method: runtime error: index out of range [3] with length 2)]" +
		" [[new 2026-01-01 00:00:00 +0000 UTC] [ready 2026-01-01 00:00:00 +0000 UTC]]" +
		" 10.0.0.1 [10.0.0.1 invalid IP] 9]"
	const zero = "0001-01-01 00:00:00 +0000 UTC"
	checkValues(t, drain(t, s), []string{whole, whole, "[0  [] [ " + zero + "] [ ] [[ " + zero + "] [ " + zero + "]] invalid IP [] <nil>]"})
	checkValues(t, drain(t, ready), []string{whole, whole})
}
