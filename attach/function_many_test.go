package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

func TestManyFunctions(t *testing.T) {
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "without uprobe_multi: 3000 perf events take minutes to close")
	}
	const n = 3000
	path := buildMany(t, n)
	before := bpf.OwnLinks(t)
	s := open(t, "uprobe:"+path+":many_*", &attach.Options{Args: []string{"arg0"}})
	if got := s.Plan().Attached(); got != n {
		t.Errorf("attached %d functions, want %d", got, n)
	}
	if got := len(bpf.NewLinks(t, before)); got != 1 {
		t.Errorf("%d links, want one", got)
	}
	p := start(t, exec.Command(path))
	p.Do("")
	events := drain(t, s)
	seen := map[string]bool{}
	for i, ev := range events {
		seen[ev.Name] = true
		if want := fmt.Sprintf("many_%d", i); ev.Name != want || ev.Args[0].Value != int64(i) {
			t.Fatalf("event %d is of %s with %v", i, ev.Name, ev.Args)
		}
	}
	if len(seen) != n || len(events) != n {
		t.Errorf("%d events of %d functions, want %d", len(events), len(seen), n)
	}
	checkSum(t, s)
}

// buildMany makes a program that, for every line it reads, calls its functions
// many_0 … in this order, each with its number.
func buildMany(t testing.TB, n int) string {
	t.Helper()
	var s strings.Builder
	s.WriteString("#include <stdio.h>\n")
	for i := range n {
		fmt.Fprintf(&s, "__attribute__((noinline)) long many_%d(long n) { __asm__ volatile(\"\"); return n; }\n", i)
	}
	s.WriteString("int main(void) {\nfor (int c; (c = getchar()) != EOF;) {\nlong sum = 0;\n")
	for i := range n {
		fmt.Fprintf(&s, "sum += many_%d(%d);\n", i, i)
	}
	s.WriteString("printf(\"%ld\\n\", sum); fflush(stdout);\n}\n}\n")
	dir := t.TempDir()
	src, out := filepath.Join(dir, "many.c"), filepath.Join(dir, "many")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-O0", "-o", out, src).CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc: %v: %s", err, msg)
	}
	return out
}
