package symbols_test

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// start starts a program and waits until it prints "ready".
func start(t testing.TB, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			go func() {
				for lines.Scan() { // whatever else it says
				}
			}()
			return cmd.Process.Pid
		}
	}
	t.Fatalf("%s ended before it was ready", name)
	return 0
}

// copyStack returns the registers of a thread, and up to size bytes of its stack.
func copyStack(t testing.TB, tid, size int) (*symbols.Registers, []byte) {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("registers of this machine are not known")
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(tid); err != nil {
		t.Fatal(err)
	}
	defer unix.PtraceDetach(tid)
	if _, err := unix.Wait4(tid, nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	var raw unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &raw); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, &raw)
	regs, err := symbols.NewRegisters(machine, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	maps, err := procfs.Maps(tid)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range maps {
		if regs.SP() >= m.Start && regs.SP() < m.End {
			stack := make([]byte, min(uint64(size), m.End-regs.SP()))
			if err := procfs.ReadMemory(tid, regs.SP(), stack); err != nil {
				t.Fatal(err)
			}
			return regs, stack
		}
	}
	t.Fatalf("nothing is mapped at %#x", regs.SP())
	return nil, nil
}

// awaitBlocked waits until the thread waits for something that does not come: until it
// is in the same place, in a system call, twice.
func awaitBlocked(t testing.TB, tid int) {
	t.Helper()
	before := ""
	for start := time.Now(); time.Since(start) < time.Minute; runtime.Gosched() {
		now, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(now); s != "running\n" && s == before {
			return
		}
		before = string(now)
	}
	t.Fatalf("thread %d does not come to rest", tid)
}

// peerStack returns the addresses of a stack as elfutils unwinds it.
func peerStack(t testing.TB, tid int) (pcs []uint64) {
	t.Helper()
	out, err := exec.Command("eu-stack", "-1", "-p", strconv.Itoa(tid)).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#\d+ +0x([0-9a-f]+)`).FindAllSubmatch(out, -1) {
		pc, err := strconv.ParseUint(string(m[1]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		pcs = append(pcs, pc)
	}
	return pcs
}

// TestUnwindC compares unwound stacks of C programs with those of elfutils.
func TestUnwindC(t *testing.T) {
	needs.Tools(t, "eu-stack")
	for _, flags := range [][]string{
		{"gcc", "-O2", "-g", "-fomit-frame-pointer"},
		{"gcc", "-O0", "-g"},
		{"gcc", "-O2", "-static", "-fomit-frame-pointer"},
		{"clang", "-O2", "-g", "-fomit-frame-pointer"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			pid := start(t, needs.Compile(t, "testdata/deep.c", flags...))
			checkUnwind(t, pid, 15)
		})
	}
}

// checkUnwind compares the stack of a thread that waits, which has at least so many
// frames, with elfutils.
func checkUnwind(t *testing.T, pid, least int) {
	t.Helper()
	awaitBlocked(t, pid)
	want := peerStack(t, pid)
	regs, stack := copyStack(t, pid, 64<<10)
	r := symbols.NewResolver(nil)
	defer r.Close()
	s, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Unwind(nil, regs, stack)
	if len(want) < least {
		t.Errorf("elfutils found only %#x", want)
	}
	if g, w := fmt.Sprintf("%#x", got.PCs), fmt.Sprintf("%#x", want); g != w {
		t.Errorf("got  %s\nwant %s\n%v", g, w, s.Stack(got))
	}
}

// TestUnwindPrograms does the same for programs that others built: CPython, which calls
// itself by way of C, and Node.js, which has no frame pointers.
func TestUnwindPrograms(t *testing.T) {
	needs.Tools(t, "eu-stack", "python3")
	python := `
import functools, sys, time
def deep(n):
    if n == 0:
        print("ready", flush=True)
        time.sleep(1000)
    return functools.reduce(lambda a, b: deep(n - 1), [1, 2])
deep(3)`
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(program); err == nil {
			t.Run(program, func(t *testing.T) { checkUnwind(t, start(t, path, "-c", python), 15) })
		}
	}
	t.Run("node", func(t *testing.T) {
		needs.Tools(t, "node")
		checkUnwind(t, start(t, "node", "-e", `console.log("ready"); setTimeout(() => {}, 1e6)`), 8)
	})
}
