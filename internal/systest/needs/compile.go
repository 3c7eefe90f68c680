package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// I386 makes a 32-bit program on a machine without 32-bit libraries.
var I386 = []string{"gcc", "-O2", "-m32", "-static", "-nostdlib", "-ffreestanding", "-DFREESTANDING", "-fno-stack-protector", "-idirafter", "/usr/include/x86_64-linux-gnu"}

// Compile compiles a C program, by a command with flags, and returns its path. The
// test is skipped without the compiler or sys/sdt.h.
func Compile(t testing.TB, source string, command ...string) string {
	t.Helper()
	if slices.Contains(command, "-m32") && runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		Skip(t, "needs %s: %v", command[0], err)
	}
	if runtime.GOARCH == "arm64" && command[0] == "gcc" {
		// With section anchors it names variables by labels that no object keeps.
		command = slices.Insert(slices.Clone(command), 1, "-fno-section-anchors")
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	once(t, keyOf(t, source, command), out, func() {
		cmd := exec.Command(command[0], append(command[1:], "-o", out, source)...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			if strings.Contains(string(msg), "sys/sdt.h") {
				Skip(t, "needs sys/sdt.h, package systemtap-sdt-dev: %s", msg)
			}
			t.Fatalf("%v: %v\n%s", cmd, err, msg)
		}
	})
	if slices.Contains(command, "-m32") {
		Runs32Bit(t, out)
	}
	return out
}

// keyOf returns what a compiler makes a program of.
func keyOf(t testing.TB, source string, command []string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q %q %s", command, source, text)
}

// Runs32Bit skips the test, also in CI, if the kernel does not run a 32-bit program, as under
// hypervisors that have no such mode. The machines of "make test-kernels" do run it: there the
// reason is not known, and a failure.
func Runs32Bit(t testing.TB, program string) {
	t.Helper()
	cmd := exec.Command(program) // without input it ends
	if err := cmd.Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this kernel runs no 32-bit programs")
	}
}

// CompileBPF compiles C for BPF with the libbpf-dev that is installed.
func CompileBPF(t testing.TB, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		Skip(t, "needs clang: %v", err)
	}
	if _, err := os.Stat("/usr/include/bpf/usdt.bpf.h"); err != nil {
		Skip(t, "needs libbpf-dev: %v", err)
	}
	machine := map[string][2]string{"amd64": {"x86", "x86_64-linux-gnu"}, "arm64": {"arm64", "aarch64-linux-gnu"}}[runtime.GOARCH]
	out := filepath.Join(t.TempDir(), "program.o")
	args := append([]string{"-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_" + machine[0], "-I/usr/include/" + machine[1], "-c", source, "-o", out}, flags...)
	once(t, keyOf(t, source, append(flags, "bpf")), out, func() {
		if msg, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
			t.Fatalf("clang %v: %v\n%s", args, err, msg)
		}
	})
	return out
}
