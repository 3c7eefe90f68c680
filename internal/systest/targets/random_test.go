package targets_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

var (
	randomFunctions = flag.Int("random", 30, "trace so many entries, instructions and returns of random functions")
	randomSeed      = flag.Uint64("seed", 1, "choose functions by this `number`; another one each time with 0")
)

// TestRandomFunctions traces random functions of private copies of libraries and programs
// while programs use them, and compares all that these print with what they print untraced.
func TestRandomFunctions(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	tracer := filepath.Join(buildTracer(t), "sdttrace")
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			tr := &trial{t: t, tracer: tracer, dir: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 0))}
			s.prepare(tr)
			tr.want = tr.run()
			if again := tr.run(); !bytes.Equal(tr.want, again) {
				t.Fatalf("the program does not print the same each time:\n%s", firstDifference(tr.want, again))
			}
			sites := tr.choose()
			t.Logf("seed %d: %s", seed, sites)
			var all []string
			for _, kind := range sites {
				all = append(all, kind.chosen...)
			}
			events := uint64(0)
			for wrong := 0; ; wrong++ {
				n, what := tr.traced(all)
				if events += n; what == "" {
					break
				}
				t.Logf("with all: %s", what)
				guilty := tr.guilty(all)
				t.Errorf("%q changes what the program does:\n%s", guilty, what)
				if all = without(all, guilty); wrong == 20 || len(all) == 0 {
					t.Fatal("and perhaps more")
				}
			}
			if t.Logf("%d events", events); events == 0 {
				t.Error("nothing was traced")
			}
		})
	}
}

// trial is a program with and without probes at a file that it has mapped.
type trial struct {
	t       *testing.T
	tracer  string // sdttrace
	dir     string // with the program
	rand    *rand.Rand
	path    string   // of the file
	force   string   // for what functions are refused that are traced nevertheless
	command string   // for a shell, in an empty directory
	user    []string // runs it as another user
	want    []byte
	events  uint64 // of the last run
}

// run runs the program, by a tracer's command line if there is one, and returns what it
// prints, and how it ends.
func (tr *trial) run(tracer ...string) []byte {
	tr.t.Helper()
	work, err := os.MkdirTemp(tr.dir, "run")
	if err != nil {
		tr.t.Fatal(err)
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o777); err != nil {
		tr.t.Fatal(err)
	}
	out := filepath.Join(tr.dir, "out")
	tr.events = 0
	const script = `cd "$WORK" && exec "$@" >"$OUT" 2>&1`
	args := slices.Concat(tracer, []string{"sh", "-c", script, "sh"}, tr.user, []string{"sh", "-c", tr.command})
	ctx, cancel := context.WithTimeout(tr.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "WORK="+work, "OUT="+out, "DIR="+tr.dir, "LC_ALL=C")
	cmd.WaitDelay = 30 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	counted, err := cmd.Output()
	b, _ := os.ReadFile(out)
	switch {
	case ctx.Err() != nil:
		return append(b, "\nit hangs\n"...)
	case err != nil && len(tracer) == 0:
		tr.t.Fatalf("%v\n%s", err, b)
	case err != nil:
		return fmt.Appendf(b, "\n%v\n%s", err, &said)
	}
	for line := range strings.Lines(string(counted)) {
		var group struct{ Count uint64 }
		if err := json.Unmarshal([]byte(line), &group); err != nil {
			tr.t.Fatalf("%q: %v\n%s", line, err, &said)
		}
		tr.events += group.Count
	}
	return b
}

// traced runs the program with probes, and returns the number of events, and how what the
// program prints differs from what it prints without.
func (tr *trial) traced(selectors []string) (events uint64, what string) {
	tr.t.Helper()
	args := []string{tr.tracer, "count", "-q", "--json"}
	if tr.force != "" {
		args = append(args, "--force")
	}
	got := tr.run(append(append(args, selectors...), "--")...)
	return tr.events, firstDifference(tr.want, got)
}

// guilty returns those of the selectors that suffice to change what the program prints, as
// few as halving finds.
func (tr *trial) guilty(selectors []string) []string {
	tr.t.Helper()
	for len(selectors) > 1 {
		half := len(selectors) / 2
		if _, what := tr.traced(selectors[:half]); what != "" {
			selectors = selectors[:half]
		} else if _, what = tr.traced(selectors[half:]); what != "" {
			selectors = selectors[half:]
		} else {
			break
		}
	}
	return selectors
}

// sites are what was chosen of a kind, and how many there were to choose from.
type sites struct {
	kind    string
	chosen  []string
	fine    int
	refused int
}

func (s sites) String() string {
	return fmt.Sprintf("%d of %d %s, %d refused", len(s.chosen), s.fine, s.kind, s.refused)
}

// choose returns selectors of random functions that are not refused.
func (tr *trial) choose() []sites {
	tr.t.Helper()
	functions := tr.functions()
	all := []sites{{kind: "entries"}, {kind: "returns"}, {kind: "instructions"}}
	for i := range all {
		asked := map[string]bool{}
		for range 6 * *randomFunctions {
			asked[all[i].selector(tr, &functions[tr.rand.IntN(len(functions))])] = true
		}
		delete(asked, "")
		for _, site := range tr.find(slices.Sorted(maps.Keys(asked))...) {
			fn := site.Probe.Target
			sel := tr.at(site.Probe.Location)
			switch all[i].kind {
			case "entries":
				sel = tr.at(fn.Address)
			case "returns": // may have several sites
				sel = ofReturn(tr.path, fn)
			}
			all[i].add(tr, &site, sel)
		}
		all[i].pick(tr)
	}
	return all
}

// functions returns the functions of the file.
func (tr *trial) functions() []reader.Function {
	tr.t.Helper()
	f, err := reader.Open(tr.path)
	if err != nil {
		tr.t.Fatal(err)
	}
	defer f.Close()
	var all []reader.Function
	for fn, err := range f.Functions() {
		if err != nil {
			tr.t.Fatal(err)
		}
		all = append(all, fn)
	}
	return all
}

// selector selects a site of a function, or none.
func (s *sites) selector(tr *trial, fn *reader.Function) string {
	switch {
	case s.kind == "entries":
		return tr.at(fn.Address)
	case s.kind == "returns":
		return ofReturn(tr.path, fn)
	case fn.Size > 1:
		return tr.at(fn.Address + 1 + tr.rand.Uint64N(fn.Size-1))
	}
	return ""
}

func ofReturn(path string, fn *reader.Function) string {
	return selector.Function("uretprobe", path, cmp.Or(fn.Versioned(fn.Symbols[0]), fn.Symbols[0]))
}

// at selects the instruction at an address of the file.
func (tr *trial) at(address uint64) string {
	return fmt.Sprintf("uprobe:%s:%#x", selector.QuotePath(tr.path), address)
}

func (s *sites) add(tr *trial, site *attach.Site, sel string) {
	switch why := site.Reason; {
	case site.Probe.SiteErr != nil: // no instruction begins there
	case slices.Contains(s.chosen, sel):
	case why == nil || tr.force != "" && strings.Contains(why.Error(), tr.force):
		s.chosen = append(s.chosen, sel)
		s.fine++
	default:
		s.refused++
	}
}

// pick leaves as many as are to be traced.
func (s *sites) pick(tr *trial) {
	tr.rand.Shuffle(len(s.chosen), func(i, j int) { s.chosen[i], s.chosen[j] = s.chosen[j], s.chosen[i] })
	s.chosen = s.chosen[:min(len(s.chosen), *randomFunctions)]
}

func (tr *trial) find(selectors ...string) attach.Plan {
	tr.t.Helper()
	plan, err := attach.Find(tr.t.Context(), selectors, nil)
	if err != nil {
		tr.t.Fatal(err)
	}
	return plan
}
