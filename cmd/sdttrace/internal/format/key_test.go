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
		{"postgresql:lock__wait__start", "statement waits_for", "statement waits_for"}, // of other events, and of some
		{"uprobe:./app:f", "method", "method"},
		{"", "method", "method"},
	} {
		if got := m.Keys(strings.Fields(c.by), strings.Fields(c.selectors)); fmt.Sprint(got) != "["+c.want+"]" {
			t.Errorf("%s by %s: %q, want %s", c.selectors, c.by, got, c.want)
		}
	}
	entry := reader.Probe{Note: notes.Note{Provider: "hotspot", Name: "method__entry", Args: "-8@%rdi 8@%rsi -4@%edx 8@%rcx -4@%r8d 8@%r9 -4@%eax"}, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64}
	plan := attach.Plan{{Probe: entry}}
	for by, want := range map[string]string{
		"comm=java class=a/B method=of signature=(I)V": `comm="java" method="a.B.of(int)"`,
		"signature=()V method=of class=B":              `method="B.of()"`,
		"class=a/B method=of":                          `class="a.B" method="of"`,
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
