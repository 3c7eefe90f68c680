package interop_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

var update = flag.Bool("update", false, "TestMatrix writes INTEROP.md anew")

// A row of a table stands for one way of using a tool, or for one producer.
type row struct {
	name     string
	packages []string // Debian's, whose versions the table shows; the first is the tool
	needs    []string // programs
	limits   map[string]limit

	// In the table of tools: use makes the tool read or trace a process, and
	// returns what it shows of each shape, by the probe's name, and all that it
	// said. want returns what the tool should show.
	use  func(t *testing.T, p *process) (shown map[string]string, said string)
	want func(shape) string

	// In the table of producers: the test of each column.
	checks map[string]func(t *testing.T)
}

// id returns the row's name in words that can be part of a path, also for
// tools in whose paths a comma or a colon has a meaning.
func (r row) id() string {
	return strings.Join(regexp.MustCompile(`\w+`).FindAllString(r.name, -1), "-")
}

// limit is a cell that is not simply "yes". The test fails when a tool learns
// more, so that the limit is removed.
type limit struct {
	mark  string // "no", "in part" or none
	shows string // what it shows, if not nothing
	says  string // in the tool's own words
	why   string
}

// none marks cells where there is nothing to test.
const none = "–"

// cells is the number of cells whose tests passed.
var cells atomic.Int32

// TestMatrix uses other people's tools on our probes, and our reader and
// attacher on other people's, and checks that INTEROP.md says what they do.
// The document has the versions of the last -update in each release: other
// versions are no error, other results are.
func TestMatrix(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the tables are of x86-64: registers, and what tools say")
	}
	here := installedRelease(t)
	shapesDir = t.TempDir()
	t.Run("tools", func(t *testing.T) {
		for _, r := range tools(here) {
			t.Run(r.id(), func(t *testing.T) { testTool(t, r) })
		}
	})
	t.Run("producers", func(t *testing.T) {
		for _, r := range producers(here) {
			t.Run(r.id(), func(t *testing.T) { testProducer(t, r) })
		}
	})
	old, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	versions := written(string(old))
	if *update && !t.Failed() {
		if got, want := int(cells.Load()), countCells(here); got != want {
			t.Fatalf("-update needs all %d cells, %d were tested", want, got)
		}
		versions[here] = installed(t, here)
		old = []byte(render(versions))
		if err := os.WriteFile(document, old, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := render(versions); want != string(old) {
		t.Errorf("%s is not what the tests hold: %s\n%s", document, here.target(), firstDifference(string(old), want))
	}
}

// testTool uses a tool on one process for each backing. The columns of the shapes
// hold what the tool shows of the objects that it can see.
func testTool(t *testing.T, r row) {
	t.Parallel()
	need(t, r.needs...)
	seen, heard := map[string]map[string]string{}, map[string]string{}
	for _, backing := range backings {
		t.Run(backing, func(t *testing.T) {
			p := startShapes(t, fmt.Sprintf("shapes%d", os.Getpid()), backing)
			shown, said := r.use(t, p)
			p.left(t)
			if l, ok := r.limits[backing]; ok && l.mark != "in part" {
				if len(shown) > 0 || !strings.Contains(said, l.says) {
					t.Fatalf("want no probes, and it to say %q; got %q; it said\n%s", l.says, shown, said)
				}
			} else if len(shown) != len(shapes) || ok && !strings.Contains(said, l.says) {
				t.Fatalf("got %d probes, want %d, and it to say %q; it said\n%s", len(shown), len(shapes), l.says, said)
			} else {
				seen[backing], heard[backing] = shown, said
			}
			cells.Add(1)
		})
	}
	for _, s := range shapes {
		l, ok := r.limits[s.column]
		if l.mark == none {
			continue
		}
		t.Run(s.column, func(t *testing.T) {
			if len(seen) == 0 {
				t.Fatal("it shows nothing of any object")
			}
			for backing := range seen {
				got, want := seen[backing][s.name], r.want(s)
				if ok && got == want {
					t.Fatalf("%s: it shows all of %s now, %q: remove the limit", backing, s.name, got)
				}
				if ok {
					want = l.shows
				}
				if got != want {
					t.Fatalf("%s: got %q, want %q", backing, got, want)
				}
				if !strings.Contains(heard[backing], l.says) {
					t.Fatalf("%s: it does not say %q, but\n%s", backing, l.says, heard[backing])
				}
			}
			cells.Add(1)
		})
	}
}

func testProducer(t *testing.T, r row) {
	t.Parallel()
	for _, column := range producerColumns {
		if check := r.checks[column]; check != nil {
			t.Run(column, func(t *testing.T) {
				need(t, r.needs...)
				check(t)
				if !t.Failed() {
					cells.Add(1)
				}
			})
		}
	}
}

func countCells(in release) (n int) {
	for _, r := range tools(in) {
		for _, c := range toolColumns() {
			if r.limits[c].mark != none {
				n++
			}
		}
	}
	for _, r := range producers(in) {
		n += len(r.checks)
	}
	return n
}

func toolColumns() []string {
	columns := append([]string(nil), backings...)
	for _, s := range shapes {
		columns = append(columns, s.column)
	}
	return columns
}
