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

// TestMissed waits for processes whose exit the kernel has missed, one of which it started
// unnoticed.
func TestMissed(t *testing.T) {
	needs.Root(t)
	for _, test := range []struct {
		name, script string
		miss         func(*family.Family) error
		err          string
	}{
		{"exit", "read line; : & wait", (*family.Family).MissExits, ""},
		{"fork", "read line; sleep 1 & echo started; exec sleep 1", (*family.Family).MissForks, "1 processes were traced up to 100ms late: the kernel left out the programs that follow children"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", test.script)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
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
			defer f.Close()
			if err := test.miss(f); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 10)); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			text := ""
			if err := f.Wait(t.Context()); err != nil {
				text = err.Error()
			}
			if text != test.err {
				t.Errorf("error %q, want %q", text, test.err)
			}
			if pids, err := f.PIDs(); err != nil || len(pids) > 0 {
				t.Errorf("the family has %v, %v", pids, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
