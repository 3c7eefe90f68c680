package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/witness"
)

// TestBeside runs every command on a process that has mapped files of debug
// symbols. The files' names say that their binaries are a device, a FIFO and links
// to them: none of these is opened.
func TestBeside(t *testing.T) {
	hostile(t) // skips the test if something is missing
	needs.Tools(t, "gcc", "objcopy")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	needs.Run(t, "gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", in("whole"), "testdata/hostile.S")
	if err := errors.Join(
		unix.Mknod(in("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))), unix.Mkfifo(in("fifo"), 0o600),
		os.Symlink("device", in("toDevice")), os.Symlink("fifo", in("toFIFO")),
	); err != nil {
		needs.Skip(t, "needs to make a device: %v", err)
	}
	for _, name := range []string{"device", "fifo", "toDevice", "toFIFO"} {
		debug := in(name + ".debug")
		needs.Run(t, "objcopy", "--only-keep-debug", in("whole"), debug)
		f, err := os.Open(debug)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(b)
	}
	w := witness.Watch(t, in("device"), in("fifo"))
	sdtdump, sdttrace := needs.Build(t, "cmd/sdtdump"), needs.Build(t, "cmd/sdttrace")
	pid := fmt.Sprint(os.Getpid())
	for _, command := range [][]string{
		{sdtdump, "--symbols", "--disasm", "-p", pid},
		{sdtdump, "--symbols", "--json", "-a"},
		{sdtdump, "__complete", "-p", pid, "--probe", ""},
		{sdttrace, "list", "-p", pid},
		{sdttrace, "-p", pid, "--duration", "100ms", "*:*"},
		{sdttrace, "--duration", "100ms", "q*:*"},
		{sdttrace, "-p", pid, "--duration", "100ms", "uprobe:device.debug:_start"},
		{sdttrace, "--duration", "100ms", "uprobe:*.debug:_start"},
		{sdttrace, "__complete", "uprobe:device.debug:"},
	} {
		out, _ := exec.Command(command[0], command[1:]...).CombinedOutput() // there may be nothing to trace
		if opened := w.Opened(); len(opened) > 0 {
			t.Errorf("%q opens %q: %s", command[1:], opened, out)
		}
		if strings.Contains(string(out), "panic: ") {
			t.Errorf("%q: %s", command[1:], out)
		}
	}
	// Naming one of them does not open it, either.
	for _, name := range []string{"device", "toFIFO"} {
		if out, err := exec.Command(sdtdump, in(name)).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a regular file") {
			t.Errorf("%s: got %v: %s", name, err, out)
		}
		if out, err := exec.Command(sdttrace, "uprobe:"+in(name)+":main").CombinedOutput(); err == nil || !strings.Contains(string(out), "not a regular file") {
			t.Errorf("%s: got %v: %s", name, err, out)
		}
	}
	if out, err := exec.Command(sdtdump, "--symbols", in("device.debug")).CombinedOutput(); err != nil || !strings.Contains(string(out), "escape") && !strings.Contains(string(out), "evil") {
		t.Errorf("the file by its name: %v: %s", err, out)
	}
	if opened := w.Opened(); len(opened) > 0 {
		t.Errorf("opened %q", opened)
	}
}
