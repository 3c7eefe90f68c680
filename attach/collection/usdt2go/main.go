// Usdt2go is bpf2go for programs that include libbpf's usdt.bpf.h, which bpf2go refuses
// ("unsupported binding: STB_WEAK"). It takes bpf2go's arguments and writes the same Go:
//
//	//go:generate go tool usdt2go -target amd64,arm64 shop shop.bpf.c
//
// The loader that it writes returns a spec for [collection.New]. Before usdt.bpf.h, the C includes
// what declares bool and struct pt_regs: vmlinux.h, or stdbool.h, linux/bpf.h and linux/ptrace.h.
//
// Usdt2go runs bpf2go, at the version of cilium/ebpf that the caller's module requires,
// with itself in place of the compiler: it compiles, and then changes the object as
// [collection.LoadSpec] does, before bpf2go reads it. The caller's -cc, BPF2GO_CC, -strip and
// BPF2GO_STRIP apply.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/libbpf"
	"github.com/go-usdt/usdt/internal/printable"
)

// compiler is the variable by which usdt2go finds out that bpf2go runs it, and which compiler
// to run.
const compiler = "USDT2GO_CC"

func main() {
	args, run := os.Args[1:], generate
	if os.Getenv(compiler) != "" {
		run = compile
	}
	stderr := printable.Writer(os.Stderr)
	err := run(args, printable.Writer(os.Stdout), stderr)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) { // it has said why
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(stderr, "usdt2go:", err)
		os.Exit(1)
	}
}

// generate runs bpf2go.
func generate(args []string, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cc := os.Getenv("BPF2GO_CC")
	args, flag := without("cc", args)
	if flag != "" {
		cc = flag
	}
	if strings.TrimSpace(cc) == "" {
		cc = "clang"
	}
	cmd := exec.Command("go", append([]string{"run", "github.com/cilium/ebpf/cmd/bpf2go"}, args...)...)
	cmd.Env = append(os.Environ(), compiler+"="+cc, "BPF2GO_CC="+self)
	if suffix, ok := strings.CutPrefix(strings.Fields(cc)[0], "clang"); ok && os.Getenv("BPF2GO_STRIP") == "" {
		cmd.Env = append(cmd.Env, "BPF2GO_STRIP=llvm-strip"+suffix) // as bpf2go would
	}
	cmd.Stdout, cmd.Stderr = printable.Behind(stdout), printable.Behind(stderr)
	return cmd.Run()
}

// without returns arguments without the flag of this name that takes a value, and its value.
func without(name string, args []string) (rest []string, value string) {
	for i := 0; i < len(args); i++ {
		arg := strings.TrimPrefix(args[i], "-")
		switch key, v, equals := strings.Cut(strings.TrimPrefix(arg, "-"), "="); {
		case args[i] == "--":
			return append(rest, args[i:]...), value
		case arg == args[i] || key != name:
			rest = append(rest, args[i])
		case equals:
			value = v
		case i+1 < len(args):
			i++
			value = args[i]
		}
	}
	return rest, value
}

// compile runs the compiler, and changes the object that it has written.
func compile(args []string, stdout, stderr io.Writer) error {
	command := append(strings.Fields(os.Getenv(compiler)), args...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = printable.Behind(stdout), printable.Behind(stderr)
	if err := cmd.Run(); err != nil {
		return err
	}
	path := ""
	for i, arg := range args[:max(len(args)-1, 0)] {
		if arg == "-o" {
			path = args[i+1]
		}
	}
	if path == "" {
		return nil // there is no object
	}
	object, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if object, err = libbpf.Patch(object); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, object, 0o644)
}
