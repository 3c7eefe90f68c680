package format

import (
	"debug/elf"
	"errors"
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// TestSay prints events of probes whose arguments together mean something.
func TestSay(t *testing.T) {
	m := &Meanings{Table: prototype.Known()}
	probes := map[string]*reader.Probe{}
	show := func(pid int, provider, name, form string, args ...event.Arg) string {
		key := provider + ":" + name + " " + form
		if probes[key] == nil {
			probes[key] = &reader.Probe{Note: notes.Note{Provider: provider, Name: name, Args: form}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64}
		}
		ev := event.Event{PID: pid, Provider: provider, Name: name, Probe: probes[key], Args: args}
		m.Event(&ev, true)
		return string(appendArgs(nil, ev.Args))
	}
	const lock = "4@%edi 4@%esi 4@%edx 2@%cx 1@%r8b -4@%r9d"
	wait := func(pid int, kind uint64, fields ...uint64) string {
		args := []event.Arg{{Name: "type", Value: kind}, {Name: "mode", Value: int64(5)}}
		for i, f := range fields {
			args = append(args, event.Arg{Name: fmt.Sprintf("field%d", i+1), Value: f})
		}
		return show(pid, "postgresql", "lock__wait__start", lock, args...)
	}
	own := func(statement any) string { // of process 8, where a variable may have it
		args := []event.Arg{{Name: "type", Value: uint64(5)}, {Name: "mode", Value: int64(5)}, {Name: "field1", Value: uint64(9)}, {Name: "statement", Value: statement}}
		return show(8, "postgresql", "lock__wait__start", lock, args...)
	}
	for what, c := range map[string]struct{ got, want string }{
		"without a statement":        {wait(7, 5, 99, 0, 0, 0), `waits_for="transaction 99" mode=ShareLock`},
		"a statement":                {show(8, "postgresql", "statement__status", "8@%rdi", event.Arg{Name: "status", Value: "lock a"}) + " " + wait(8, 0, 5, 16384, 0, 0) + " " + wait(7, 4, 5, 2, 3, 4), `status="lock a" waits_for="relation 16384 of database 5" statement="lock a" mode=ShareLock waits_for="tuple (3,4) of relation 2 of database 5" mode=ShareLock`},
		"a statement of its own":     {wait(8, 5, 99) + " " + own("lock b"), `waits_for="transaction 99" statement="lock a" mode=ShareLock waits_for="transaction 9" mode=ShareLock statement="lock b"`},
		"no statement of its own":    {own(nil), `waits_for="transaction 9" statement="lock a" mode=ShareLock`},
		"a kind that no version has": {wait(7, 77, 1, 2, 3, 4), `type=77 mode=ShareLock field1=1 field2=2 field3=3 field4=4`},
		"a method": {show(1, "hotspot", "method__entry", "-8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax",
			event.Arg{Name: "thread", Value: int64(1)}, event.Arg{Name: "class", Value: "java/util/Map$Entry"}, event.Arg{Name: "method", Value: "of"}, event.Arg{Name: "signature", Value: "(I[[JLjava/lang/String;[Lq/A;Z)V"}),
			`method="java.util.Map$Entry.of(int, long[][], java.lang.String, q.A[], boolean)" thread=1`},
		"a method that cannot be read": {show(1, "hotspot", "method__return", "-8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax",
			event.Arg{Name: "class", Value: "a/B"}, event.Arg{Name: "method", Err: errors.New("gone")}, event.Arg{Name: "signature", Value: "(L"}),
			`class="a.B" method=?(gone) signature="(L"`},
		"an exception": {show(1, "libstdcxx", "throw", "8@%rdi 8@%rsi", event.Arg{Name: "type", Value: "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"}), `type="std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", what, c.got, c.want)
		}
	}
	// Other readers have the numbers, and behind them the texts that no argument has the name of.
	show(8, "postgresql", "statement__status", "8@%rdi", event.Arg{Name: "status", Value: "lock a"})
	wait(8, 5)
	for key, c := range map[string]struct {
		args []event.Arg
		want string
	}{
		"postgresql:lock__wait__start " + lock:                                      {[]event.Arg{{Name: "field1", Value: uint64(99)}, {Name: "type", Value: uint64(5)}, {Name: "mode", Value: int64(5)}}, `{"field1":99,"type":5,"mode":5,"waits_for":"transaction 99","statement":"lock a"}`},
		"hotspot:method__entry -8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax": {[]event.Arg{{Name: "class", Value: "a/B"}, {Name: "method", Value: "of"}, {Name: "signature", Value: "(I)V"}}, `{"class":"a/B","method":"of","signature":"(I)V"}`},
	} {
		ev := event.Event{PID: 8, Provider: probes[key].Provider, Name: probes[key].Name, Probe: probes[key], Args: c.args}
		m.Event(&ev, false)
		if got := string(event.Struct(ev.Args).AppendJSON(nil)); got != c.want {
			t.Errorf("%s: got %s, want %s", key, got, c.want)
		}
	}
	// Earlier words are forgotten before it takes much memory.
	for pid := range 3 * maxSaid {
		show(pid, "postgresql", "statement__status", "8@%rdi", event.Arg{Name: "status", Value: "x"})
	}
	if len(m.last) > maxSaid {
		t.Errorf("%d statements are kept, want at most %d", len(m.last), maxSaid)
	}
}
