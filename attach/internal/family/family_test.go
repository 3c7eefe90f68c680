package family_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/family"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestWaitWhileForking waits for processes, each of which starts another and ends, while their
// table is read.
func TestWaitWhileForking(t *testing.T) {
	needs.Root(t)
	program := needs.Compile(t, "testdata/chain.c", "gcc", "-O1", "-static")
	for range 5 {
		path := filepath.Join(t.TempDir(), "out")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program)
		cmd.Stdout = out
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := family.Follow([]int{cmd.Process.Pid})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); string(text) != "end\n" || err != nil {
			t.Errorf("it has not waited for the last: it wrote %q, %v", text, err)
		}
		f.Close()
		out.Close()
	}
}
