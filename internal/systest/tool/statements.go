package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// SlowStatements runs statements in this process, which has PostgreSQL's probes, and wants run, a
// tool, to print the slow one first. It returns what the tool prints then.
func SlowStatements(t *testing.T, run func(ctx context.Context, out io.Writer, slower time.Duration, target attach.Target) error) (rest []string) {
	p := provider.New("postgresql", nil)
	start, done := provider.NewProbe1[string](p, "query__start", "query"), provider.NewProbe1[string](p, "query__done", "query")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	const slow = time.Second
	running := Start(t, func(ctx context.Context, out io.Writer) error {
		return run(ctx, out, slow, attach.Target{PIDs: []int{os.Getpid()}})
	})
	runtime.LockOSThread() // a backend has one
	defer runtime.UnlockOSThread()
	for _, query := range []string{"SELECT 1", "SELECT pg_sleep(1)", "SELECT 2"} {
		start.Fire(query)
		begun := time.Now()
		for query == "SELECT pg_sleep(1)" && time.Since(begun) <= slow {
			time.Sleep(slow - time.Since(begun) + time.Millisecond)
		}
		done.Fire(query)
	}
	var took time.Duration
	var text, pid, query, arg string
	lines := running.End()
	if len(lines) == 0 {
		t.Fatal("no statement")
	}
	if _, err := fmt.Sscan(lines[0], &text, &pid, &query, &arg); err != nil {
		t.Fatal(err)
	}
	took, err := time.ParseDuration(text)
	if err != nil || took < slow || pid != fmt.Sprint(os.Getpid()) || query+" "+arg != "SELECT pg_sleep(1)" {
		t.Errorf("got %q, %v", lines[0], err)
	}
	return lines[1:]
}
