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
	var mu sync.Mutex
	waiting := map[int]net.Conn{}
	go func() {
		for id := 1; ; id++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var request report.Compile
			if err := json.NewDecoder(conn).Decode(&request); err != nil {
				conn.Close()
				continue
			}
			request.ID = id
			mu.Lock()
			waiting[id] = conn
			mu.Unlock()
			w.Write(report.Message{Compile: &request})
		}
	}()
	go func() {
		for in := bufio.NewReader(os.Stdin); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var reply report.Compiled
			if err := json.Unmarshal(line, &reply); err != nil {
				w.Write(report.Message{Error: fmt.Sprintf("%d bytes on the console are no answer: %v", len(line), err)})
				continue
			}
			mu.Lock()
			conn := waiting[reply.ID]
			delete(waiting, reply.ID)
			mu.Unlock()
			if conn != nil {
				conn.Write(line)
				conn.Close()
			}
		}
	}()
	return nil
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
