package top

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// TestWidths has all keys, and the whole title, on narrow screens and wide ones.
func TestWidths(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		m := screen(t, &source{})
		m.Update(tea.WindowSizeMsg{Width: width, Height: 12})
		text := m.View().Content
		for _, want := range []string{" in all", "b:fast", "p by process", "q quit"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
		if lines := strings.Split(text, "\n"); len(lines) != 12 {
			t.Errorf("%d columns: %d lines, want 12", width, len(lines))
		}
		none := newModel(&Options{Source: &source{}, Interval: time.Second, NoMatch: "no probe matches b:fsat in the files that processes of this machine have mapped, but b:fast would"})
		none.Update(tea.WindowSizeMsg{Width: width, Height: 12})
		text = none.View().Content
		if !strings.Contains(strings.ReplaceAll(text, "\n", " "), "have mapped, but b:fast would") {
			t.Errorf("%d columns: it does not say why there is nothing:\n%s", width, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.NewReplacer(bold, "", plain, "").Replace(line); utf8.RuneCountInString(line) > width {
				t.Errorf("%d columns: %q is wider", width, line)
			}
		}
	}
}
