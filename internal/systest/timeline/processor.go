package timeline

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// library is Perfetto's trace_processor, which Debian has in the package chromium-shell.
const library = "/usr/lib/chromium/libtest_trace_processor.so"

// installed reports whether Perfetto's trace_processor is there.
func installed() bool {
	_, err := exec.LookPath("g++") // the package, whose compiler gcc runs
	if err == nil {
		_, err = os.Stat(library)
	}
	return err == nil
}

// source is the program that has the library answer queries.
//
//go:embed testdata/processor.cc
var source []byte

// processor is the program, which must be [installed], or why the library is not the one
// that it knows. A process compiles and checks it once, and keeps it in memory: no file is
// left behind, however the process ends.
var processor = sync.OnceValues(func() (program []byte, err error) {
	if program, err = compile(library); err == nil {
		err = check(program)
	}
	if err != nil {
		version, _ := exec.Command("dpkg-query", "--show", "--showformat", "${Version}", "chromium-shell").Output()
		return nil, fmt.Errorf("the trace_processor of chromium-shell %s is not the one that processor.cc knows: %w", version, err)
	}
	return program, nil
})

// compile compiles the program, and links it with a library.
func compile(library string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "processor")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "processor")
	if err := os.WriteFile(path+".cc", source, 0o600); err != nil {
		return nil, err
	}
	// The library has its own C++ library; that of the compiler would take its place.
	if _, err := output("gcc", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-o", path, path+".cc", library, "-Wl,-rpath,"+filepath.Dir(library)); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// limit is how long a program may run. The compiler and the processor take a second.
const limit = 5 * time.Minute

// output returns what a program writes to stdout.
func output(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Minute
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s has not ended within %v: %w\n%s", name, limit, err, &stderr)
	case err != nil:
		return nil, fmt.Errorf("%s: %w\n%s", name, err, &stderr)
	}
	return out, nil
}

// ask opens a trace with the processor, and returns the rows that it answers to each query
// of its SQL. A NULL is "[NULL]".
func ask(program, trace []byte, queries ...string) ([][][]string, error) {
	dir, err := os.MkdirTemp("", "trace")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	processor, path := filepath.Join(dir, "processor"), filepath.Join(dir, "trace")
	// A child that another goroutine forks would hold the program open for writing, and a
	// file that is open so cannot be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(processor, program, 0o700)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.WriteFile(path, trace, 0o600)
	}
	if err != nil {
		return nil, err
	}
	out, err := output(processor, append([]string{path}, queries...)...)
	if err != nil {
		return nil, fmt.Errorf("trace_processor: %w", err)
	}
	answers := make([][][]string, len(queries))
	for i := range answers {
		if answers[i], out, err = answer(out); err != nil {
			return nil, fmt.Errorf("%s: %w", queries[i], err)
		}
	}
	return answers, nil
}

// answer returns the rows of the first answer, without the names of columns, and what
// follows.
func answer(out []byte) (rows [][]string, rest []byte, err error) {
	size, rest, _ := bytes.Cut(out, []byte("\n"))
	r, c, _ := strings.Cut(string(size), " ")
	height, err := strconv.Atoi(r)
	if err != nil {
		return nil, nil, err
	}
	width, err := strconv.Atoi(c)
	if err != nil {
		return nil, nil, err
	}
	if height < 0 || width < 0 || width > len(rest) {
		return nil, nil, fmt.Errorf("%d rows of %d cells in %d bytes", height, width, len(rest))
	}
	for range height {
		row := make([]string, width)
		for i := range row {
			cell, behind, ok := bytes.Cut(rest, []byte{0})
			if !ok {
				return nil, nil, fmt.Errorf("%d rows of %d cells are cut off", height, width)
			}
			row[i], rest = string(cell), behind
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("no names of columns")
	}
	return rows[1:], rest, nil
}
