package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// emulators are the programs that emulate a machine of each architecture, with
// their arguments, and the name of the console on its first serial port. They
// translate code, so that results are the same on hosts with and without KVM.
//
// The emulators of QEMU 7.2 have two faults that crash kernels now and then:
// flags are wrong after a cmpxchg16b without lock prefix, which Linux uses from
// 6.5 on if the processor has it, and a thread may see code that another has
// replaced. Therefore machines have no cx16, and one thread for all processors.
//
// A kernel for amd64 counts the timer's interrupts when it boots, and panics if they do not come
// in time ("IO-APIC + timer doesn't work!"), as is so where the emulator waits for a processor of
// the host: no_timer_check.
var emulators = map[string]struct {
	command []string
	console string
}{
	"amd64": {[]string{"qemu-system-x86_64", "-cpu", "Nehalem,-cx16"}, "ttyS0"},
	"arm64": {[]string{"qemu-system-aarch64", "-machine", "virt", "-cpu", "neoverse-n1"}, "ttyAMA0"},
}

// consoleTail is the number of the console's last lines that an error shows.
const consoleTail = 100

// boot boots a machine and calls each with what it reports, until the machine
// turns itself off, which it may once done says so. The machine reads what each
// writes to the console. boot kills a machine that outlives ctx. It returns the processor time of the
// emulator.
func boot(ctx context.Context, arch, image, initramfs string, cpus int, each func(m report.Message, console io.Writer) error, done func() bool) (time.Duration, error) {
	e := emulators[arch]
	args := append(e.command[1:len(e.command):len(e.command)],
		"-accel", "tcg,thread=single", "-smp", strconv.Itoa(cpus), "-m", "2G",
		"-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
		"-kernel", image, "-initrd", initramfs,
		"-append", "console="+e.console+" rdinit=/init panic=-1 quiet mitigations=off no_timer_check")
	cmd := exec.CommandContext(ctx, e.command[0], args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	console, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var tail []string
	var failed error
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if m, ok := report.Parse(line); ok {
			if failed == nil {
				failed = each(m, console)
			}
			if m.Error != "" && failed == nil {
				failed = errors.New(m.Error)
			}
		} else if text := strings.TrimSpace(string(line)); text != "" {
			tail = append(tail[max(0, len(tail)-consoleTail+1):], text)
		}
		if err != nil {
			break
		}
	}
	err = errors.Join(failed, cmd.Wait())
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		err = fmt.Errorf("the machine was still running: %w", context.Cause(ctx))
	} else if err == nil && !done() {
		err = errors.New("the machine turned itself off before all tests had run")
	}
	if err != nil {
		return used, fmt.Errorf("%w\n%s%s", err, stderr.String(), strings.Join(tail, "\n"))
	}
	return used, nil
}
