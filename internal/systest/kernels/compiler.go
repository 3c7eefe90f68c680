package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// toolchain says how the host compiles for an architecture.
type toolchain struct {
	commands map[string][]string // what stands for gcc and clang
	include  [2]string           // a directory as the machine has it, and where the host has it
	libs     map[string]string   // what programs are linked with: the machine's path, the host's
}

var toolchains = map[string]toolchain{
	"amd64": {
		commands: map[string][]string{"gcc": {"gcc"}, "clang": {"clang"}},
		libs: map[string]string{
			"lib64/ld-linux-x86-64.so.2":     "/lib64/ld-linux-x86-64.so.2",
			"lib/x86_64-linux-gnu/libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
		},
	},
	// sys/sdt.h is the same for all architectures.
	"arm64": {
		commands: map[string][]string{
			"gcc":   {"aarch64-linux-gnu-gcc", "-idirafter", "/usr/include/x86_64-linux-gnu"},
			"clang": {"clang", "--target=aarch64-linux-gnu", "-idirafter", "/usr/include/x86_64-linux-gnu"},
		},
		include: [2]string{"/usr/include/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/include"},
		libs: map[string]string{
			"lib/ld-linux-aarch64.so.1": "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
			"lib/libc.so.6":             "/usr/aarch64-linux-gnu/lib/libc.so.6",
		},
	},
}

// compiled has what has been compiled, a func() report.Compiled for each command
// with its input: machines of one architecture ask for the same.
var compiled sync.Map

// answer runs a compiler for a machine and writes the result to its console.
func (t toolchain) answer(console io.Writer, c *report.Compile) {
	key, err := json.Marshal([]any{t.commands, c.Command, c.Dir, c.Files})
	if err != nil {
		panic(err) // plain data
	}
	once, _ := compiled.LoadOrStore(string(key), sync.OnceValue(func() report.Compiled {
		reply, err := t.compile(c)
		if err != nil {
			reply = report.Compiled{Code: 1, Output: err.Error() + "\n"}
		}
		return reply
	}))
	reply := once.(func() report.Compiled)()
	reply.ID = c.ID
	data, err := json.Marshal(reply)
	if err != nil {
		panic(err) // plain data
	}
	console.Write(append(data, '\n')) // fails when the machine has gone
}

// compile runs a compiler in the module's directory for a machine.
func (t toolchain) compile(c *report.Compile) (report.Compiled, error) {
	var reply report.Compiled
	root, err := os.Getwd()
	if err != nil {
		return reply, err
	}
	tmp, err := os.MkdirTemp("", "compile")
	if err != nil {
		return reply, err
	}
	defer os.RemoveAll(tmp)
	for name, data := range c.Files {
		if err := os.WriteFile(filepath.Join(tmp, filepath.Base(name)), data, 0o600); err != nil {
			return reply, err
		}
	}
	command := t.commands[c.Command[0]]
	if command == nil {
		return reply, fmt.Errorf("a machine asks for the compiler %q", c.Command[0])
	}
	args := command[1:len(command):len(command)]
	out := filepath.Join(tmp, "output")
	for _, arg := range c.Command[1:] {
		if name, ok := strings.CutPrefix(arg, report.SourceFile); ok {
			arg = filepath.Join(root, name)
		} else if name, ok := strings.CutPrefix(arg, report.SentFile); ok {
			arg = filepath.Join(tmp, filepath.Base(name))
		} else if arg == report.OutputFile {
			arg = out
		} else if t.include[0] != "" {
			arg = strings.Replace(arg, t.include[0], t.include[1], 1)
		}
		args = append(args, arg)
	}
	cmd := exec.Command(command[0], args...)
	cmd.Dir = tmp
	if c.Dir != "" {
		cmd.Dir = filepath.Join(root, strings.TrimPrefix(c.Dir, report.SourceDir))
	}
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return reply, err
	}
	reply.Output, reply.Code = string(output), cmd.ProcessState.ExitCode()
	data, err := os.ReadFile(out)
	if os.IsNotExist(err) {
		return reply, nil
	} else if err != nil {
		return reply, err
	}
	// A serial line is slow.
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return reply, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	reply.File = b.Bytes()
	return reply, err
}
