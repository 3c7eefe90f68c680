package timeline

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// library is Perfetto's trace_processor, which Debian has in the package chromium-shell.
const library = "/usr/lib/chromium/libtest_trace_processor.so"

// Installed reports whether Perfetto's trace_processor can be run here.
func Installed() bool {
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

// Query opens a trace with Perfetto's trace_processor, which must be [Installed], and
// returns the rows that it answers to each query of its SQL. A NULL is "[NULL]".
func Query(t testing.TB, trace []byte, queries ...string) [][][]string {
	t.Helper()
	dir := t.TempDir()
	processor, path := filepath.Join(dir, "processor"), filepath.Join(dir, "trace")
	for name, b := range map[string][]byte{processor + ".cc": source, path: trace} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The library has its own C++ library; that of the compiler would take its place.
	compile := exec.Command("gcc", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-o", processor, processor+".cc", library, "-Wl,-rpath,"+filepath.Dir(library))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compile, err, out)
	}
	cmd := exec.Command(processor, append([]string{path}, queries...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("trace_processor: %v\n%s", err, &stderr)
	}
	answers := make([][][]string, len(queries))
	for i := range answers {
		if answers[i], out, err = answer(out); err != nil {
			t.Fatalf("%s: %v", queries[i], err)
		}
	}
	return answers
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
