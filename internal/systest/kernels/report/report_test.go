package report

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMessages writes messages between other lines, as on a console, and reads
// them back.
func TestMessages(t *testing.T) {
	code := 3
	want := []Message{
		{Kernel: &Kernel{Release: "6.1.0", Machine: "aarch64", Mechanism: "perf events", Site: "nop", Noexec: true}},
		{Suite: "internal/stub", Line: "a \"line\"\twith\x16 all <sorts> of héllo\r\n"},
		{Suite: "internal/stub", Line: "@test {\"error\":\"no message of its own\"}\n"},
		{Suite: "internal/stub", Exit: &code},
		{Suite: "internal/stub", Again: &Again{Test: "TestX", Attempt: 2}, Exit: &code},
		{Compile: &Compile{ID: 1, Command: []string{"gcc", SentFile + "1a.c"}, Dir: SourceDir, Files: map[string][]byte{"1a.c": {0, 1, 255}}}},
		{Error: "console: inappropriate ioctl"},
	}
	var b bytes.Buffer
	w := NewWriter(&b)
	for i, m := range want {
		fmt.Fprintf(&b, "[%d] a line of the kernel that has no end", i)
		if err := w.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	var got []Message
	for line := range strings.Lines(b.String()) {
		if m, ok := Parse([]byte(line)); ok {
			got = append(got, m)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
}

// TestConcurrentWrites checks that messages do not mix.
func TestConcurrentWrites(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				w.Write(Message{Line: fmt.Sprint(i, j)})
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		if m, ok := Parse([]byte(line)); ok {
			seen[m.Line] = true
		}
	}
	if len(seen) != 8*50 {
		t.Errorf("%d messages can be read, want %d", len(seen), 8*50)
	}
}

func TestNoMessage(t *testing.T) {
	for _, line := range []string{"", "\n", "[    0.1] Booting", "@test", "@test {", "@test [1]", `{"line":"x"}`, "@test {\"line\":\"cut o"} {
		if m, ok := Parse([]byte(line)); ok {
			t.Errorf("%q: got %+v, want no message", line, m)
		}
	}
}
