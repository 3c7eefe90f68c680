//go:build linux

// Command init is the first process of a machine that runs test binaries. It
// makes the file system that they expect, runs one after the other, reports on
// the console and turns the machine off.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

func main() {
	if name := filepath.Base(os.Args[0]); name != "init" {
		os.Exit(remoteCompiler(name, os.Args[1:]))
	}
	w := report.NewWriter(os.Stdout)
	if err := run(w); err != nil {
		w.Write(report.Message{Error: err.Error()})
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run(w *report.Writer) error {
	if err := mount(); err != nil {
		return err
	}
	// Lines of the kernel would be mixed with ours.
	if err := os.WriteFile("/proc/sys/kernel/printk", []byte("1"), 0); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return err
	}
	if out, err := exec.Command("/bin/busybox", "--install", "-s", "/bin").CombinedOutput(); err != nil {
		return fmt.Errorf("busybox: %w: %s", err, out)
	}
	if err := serveCompilers(w); err != nil {
		return err
	}
	data, err := os.ReadFile("/suites.json")
	if err != nil {
		return err
	}
	var suites []report.Suite
	if err := json.Unmarshal(data, &suites); err != nil {
		return err
	}
	kernel, err := describe()
	if err != nil {
		return err
	}
	if err := w.Write(report.Message{Kernel: kernel}); err != nil {
		return err
	}
	again := report.MaxUnsteady
	for _, s := range suites {
		if err := runSuite(w, s, &again); err != nil {
			return fmt.Errorf("run tests of %s: %w", s.Name(), err)
		}
	}
	return nil
}

// mount mounts the file systems that a Linux system has.
func mount() error {
	for _, m := range []struct{ fs, dir, data string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devtmpfs", "/dev", ""},
		{"devpts", "/dev/pts", "ptmxmode=0666"},
		{"tmpfs", "/dev/shm", ""},
		{"tmpfs", "/tmp", "mode=1777"},
		{"tmpfs", "/run", ""},
		{"cgroup2", "/sys/fs/cgroup", ""},
		{"bpf", "/sys/fs/bpf", ""},
		{"debugfs", "/sys/kernel/debug", ""},
		{"tracefs", "/sys/kernel/tracing", ""},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fs, m.dir, m.fs, 0, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	return nil
}

// loopback brings 127.0.0.1 up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifreq.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	return nil
}

// describe asks the kernel for its release and its features.
func describe() (*report.Kernel, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	k := &report.Kernel{
		Release:   unix.ByteSliceToString(u.Release[:]),
		Machine:   unix.ByteSliceToString(u.Machine[:]),
		Mechanism: "perf events",
		Site:      "nop",
	}
	if features.HaveBPFLinkUprobeMulti() == nil {
		k.Mechanism = "uprobe_multi"
	}
	switch sys.UprobeOptimization() {
	case sys.OptimizesNop5:
		k.Site = "nop5"
	case sys.OptimizesNop10:
		k.Site = "nop10"
	}
	_, err := os.Stat("/proc/sys/vm/memfd_noexec")
	k.Noexec = err == nil
	return k, nil
}

// runSuite runs one test binary. It then runs the tests that failed again, each by itself, if
// they are not more than again allows, which it lowers. Exit code 1 says that all tests ran.
func runSuite(w *report.Writer, s report.Suite, again *int) error {
	if s.Yama != "" {
		if err := os.WriteFile("/proc/sys/kernel/yama/ptrace_scope", []byte(s.Yama), 0); err != nil {
			return err
		}
	}
	failed, code, err := runBinary(w, s, nil)
	if err != nil || s.Steady || code != 1 || len(failed) > *again {
		return err
	}
	*again -= len(failed)
	for _, test := range failed {
		alone := s
		alone.Args = s.Alone(test)
		for attempt, code := 1, 0; attempt <= report.Attempts && code == 0; attempt++ {
			_, code, err = runBinary(w, alone, &report.Again{Test: test, Attempt: attempt})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// runBinary runs a test binary and reports what it prints. It returns the tests that failed and
// the exit code.
func runBinary(w *report.Writer, s report.Suite, again *report.Again) (failed []string, code int, err error) {
	dir := filepath.Join(report.SourceDir, s.Package)
	cmd := exec.Command(filepath.Join(dir, "test"), s.Args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/bin", "HOME=/tmp", "TMPDIR=/tmp"}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, 0, err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		// Processes that a test has left behind may keep the pipe open.
		out.SetReadDeadline(time.Now().Add(time.Second))
	}()
	quiet := time.AfterFunc(silence, func() {
		for line := range strings.Lines(processes()) {
			w.Write(report.Message{Suite: s.Name(), Again: again, Line: line})
		}
	})
	defer quiet.Stop()
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		quiet.Reset(silence)
		if line != "" {
			if err := w.Write(report.Message{Suite: s.Name(), Again: again, Line: line}); err != nil {
				return nil, 0, err
			}
			if test := report.Failed(line); test != "" {
				failed = append(failed, test)
			}
		}
		if err != nil {
			break
		}
	}
	<-ended
	code = cmd.ProcessState.ExitCode()
	return failed, code, w.Write(report.Message{Suite: s.Name(), Again: again, Exit: &code})
}
