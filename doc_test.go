package usdt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// The code of the package's comment follows, so that it is compiled.

var (
	myapp = provider.New("myapp", nil)
	start = provider.NewProbe2[uint64, string](myapp, "request_start", "id", "path")
)

func main() {
	if err := myapp.Load(); err != nil {
		log.Print(err) // the service runs on; its probes do nothing
	}
	defer myapp.Close()
	start.Fire(7, "/index.html")
}

func find() error {
	f, err := reader.Open("/usr/lib/postgresql/15/bin/postgres")
	if err != nil {
		return err
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err != nil {
			return err
		}
		fmt.Println(p.Provider, p.Name, p.Args)
	}
	return nil
}

func trace(ctx context.Context) error {
	s, err := attach.Open(ctx, []string{"myapp:request_*"}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for e, err := range s.Events() {
		if err != nil {
			return err
		}
		fmt.Println(e.Name, e.Args)
	}
	return nil
}

var _, _, _ = main, find, trace

// TestDoc checks that each piece of code in the package's comment is in this
// file, which compiles.
func TestDoc(t *testing.T) {
	doc, here := lines(t, "doc.go"), strings.Join(lines(t, "doc_test.go"), "\n")
	var code []string
	pieces := 0
	for _, line := range append(doc, "") {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			code = append(code, strings.TrimSpace(text))
			continue
		}
		if line == "//" && len(code) > 0 && code[len(code)-1] != "" {
			code = append(code, "") // perhaps within the piece
			continue
		}
		if piece := strings.TrimSpace(strings.Join(code, "\n")); piece != "" {
			pieces++
			if !strings.Contains(here, piece) {
				t.Errorf("doc.go has code that does not compile in doc_test.go:\n%s", piece)
			}
		}
		code = nil
	}
	if pieces != 3 {
		t.Errorf("doc.go has %d pieces of code, want 3", pieces)
	}
}

// lines returns the lines of a file without what surrounds them, comments
// excepted.
func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(b), "\n")
	for i, line := range all {
		if !strings.HasPrefix(line, "//") {
			all[i] = strings.TrimSpace(line)
		}
	}
	return all
}
