package format

import (
	"debug/elf"
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestKeys groups by texts that are made of several arguments.
func TestKeys(t *testing.T) {
	m := &Meanings{Table: prototype.Known()}
	for _, c := range []struct{ selectors, by, want string }{
		{"hotspot:method__entry", "method", "class method signature"},
		{"/jdk/libjvm.so:hotspot:method__entry hotspot:method__return", "probe method class", "probe class method signature"},
		{"hotspot:method__entry", "class", "class"},
		{"hotspot:method__entry python:line", "method", "method"},
		{"postgresql:lock__wait__start", "statement", "statement"}, // of another event
		{"postgresql:lock__wait__start postgresql:lock__wait__done", "waits_for mode", "type field2 field1 field3 field4 mode"},
		{"uprobe:./app:f", "method", "method"},
		{"", "method", "method"},
	} {
		if got := m.Keys(strings.Fields(c.by), strings.Fields(c.selectors)); fmt.Sprint(got) != "["+c.want+"]" {
			t.Errorf("%s by %s: %q, want %s", c.selectors, c.by, got, c.want)
		}
	}
	entry := reader.Probe{Note: notes.Note{Provider: "hotspot", Name: "method__entry", Args: "-8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax"}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64}
	wait := reader.Probe{Note: notes.Note{Provider: "postgresql", Name: "lock__wait__start", Args: "4@%eax 4@%ebx 4@%ecx 2@%dx 1@%sil -4@%edi"}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64}
	plan := attach.Plan{{Probe: entry}, {Probe: wait}}
	for by, want := range map[string]string{
		"comm=java class=a/B method=of signature=(I)V":                        `comm="java" method="a.B.of(int)"`,
		"signature=()V method=of class=B":                                     `method="B.of()"`,
		"class=a/B method=of":                                                 `class="a.B" method="of"`,
		"type=LOCKTAG_TUPLE field2=7 field1=5 field3=1 field4=9 mode=X":       `waits_for="tuple (1,9) of relation 7 of database 5" mode="X"`,
		"type=LOCKTAG_TRANSACTION field2=0 field1=77 field3=0 field4=0":       `waits_for="transaction 77"`,
		"type=LOCKTAG_OF_A_LATER_VERSION field2=2 field1=1 field3=3 field4=4": `waits_for="type=LOCKTAG_OF_A_LATER_VERSION field2=2 field1=1 field3=3 field4=4"`,
	} {
		var g total.Group
		for _, key := range strings.Fields(by) {
			name, value, _ := strings.Cut(key, "=")
			g.By = append(g.By, event.Arg{Name: name, Value: value})
		}
		groups := []total.Group{g}
		m.Groups(groups, plan)
		if got := string(appendArgs(nil, groups[0].By)); got != want {
			t.Errorf("%s: got %s, want %s", by, got, want)
		}
	}
}
