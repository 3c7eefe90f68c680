//go:build linux

package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// compilerSocket is where init takes a report.Compile, and answers with a
// report.Compiled.
const compilerSocket = "/run/compiler"

// remoteCompiler stands for the machine's gcc and clang: it makes the host run
// the command and returns its exit code.
func remoteCompiler(name string, args []string) int {
	reply, out, err := compileThere(name, args)
	if err == nil && out != "" && reply.Code == 0 {
		var data []byte
		if data, err = io.ReadAll(flate.NewReader(bytes.NewReader(reply.File))); err == nil {
			err = os.WriteFile(out, data, 0o755)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s on the host: %v\n", name, err)
		return 1
	}
	fmt.Fprint(os.Stderr, reply.Output)
	return reply.Code
}

// compileThere also returns the path of the output, if the command has one.
func compileThere(name string, args []string) (reply report.Compiled, out string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return reply, "", err
	}
	request := report.Compile{Command: []string{name}, Files: map[string][]byte{}}
	if within(dir) {
		request.Dir = dir
	}
	for i, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return reply, "", err
		}
		info, err := os.Stat(path)
		switch {
		case i > 0 && args[i-1] == "-o":
			out = path
			arg = report.OutputFile
		case err != nil || !info.Mode().IsRegular():
		case within(path):
			arg = report.SourceFile + strings.TrimPrefix(path, report.SourceDir+"/")
		default:
			base := strconv.Itoa(i) + filepath.Base(path)
			if request.Files[base], err = os.ReadFile(path); err != nil {
				return reply, "", err
			}
			arg = report.SentFile + base
		}
		request.Command = append(request.Command, arg)
	}
	conn, err := net.Dial("unix", compilerSocket)
	if err != nil {
		return reply, "", err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return reply, "", err
	}
	return reply, out, json.NewDecoder(conn).Decode(&reply)
}

func within(path string) bool {
	return path == report.SourceDir || strings.HasPrefix(path, report.SourceDir+"/")
}

// serveCompilers passes requests to the host, and its answers, which are lines
// on the console, back.
func serveCompilers(w *report.Writer) error {
	if err := rawConsole(); err != nil {
		return err
	}
	l, err := net.Listen("unix", compilerSocket)
	if err != nil {
		return err
	}
	// Tests become other users.
	if err := os.Chmod(compilerSocket, 0o777); err != nil {
		return err
	}
	asked := answers{waiting: map[int]chan []byte{}, patience: time.Minute}
	go func() {
		for id := 1; ; id++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				request := report.Compile{}
				if err := json.NewDecoder(conn).Decode(&request); err == nil {
					request.ID = id
					conn.Write(asked.ask(w, &request))
				}
			}()
		}
	}()
	go asked.read(os.Stdin)
	return nil
}

// answers hands each answer of the host to whoever has asked. The serial line may lose a piece of a
// line when a machine is too slow to take it, so that requests are repeated; the host keeps answers.
type answers struct {
	mu       sync.Mutex
	waiting  map[int]chan []byte // by the request's ID
	patience time.Duration       // until a request is repeated
}

// ask returns the host's answer, a line.
func (a *answers) ask(w *report.Writer, request *report.Compile) []byte {
	answer := make(chan []byte, 1)
	a.mu.Lock()
	a.waiting[request.ID] = answer
	a.mu.Unlock()
	for {
		w.Write(report.Message{Compile: request})
		select {
		case line := <-answer:
			return line
		case <-time.After(a.patience):
		}
	}
}

// read reads answers from the console.
func (a *answers) read(console io.Reader) {
	for in := bufio.NewReader(console); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var reply report.Compiled
		if err := json.Unmarshal(line, &reply); err != nil {
			continue // it is asked for again
		}
		a.mu.Lock()
		answer := a.waiting[reply.ID]
		delete(a.waiting, reply.ID)
		a.mu.Unlock()
		if answer != nil {
			answer <- line
		}
	}
}

// rawConsole makes the console pass lines of any length, and not echo them.
func rawConsole() error {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	t.Iflag &^= unix.ICRNL | unix.IXON | unix.ISTRIP | unix.INLCR | unix.IGNCR
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(0, unix.TCSETS, t); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	return nil
}
