package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("kernels", flag.ContinueOnError)
	flags.SetOutput(stderr)
	update := flags.Bool("update", false, "write KERNELS.md")
	limit := flags.Duration("timeout", 60*time.Minute, "kill a machine that runs longer")
	atATime := flags.Int("p", 4, "machines that run at a time: each has one thread, which waits for a third of its time")
	cpus := flags.Int("cpus", 2, "processors of a machine; with another number, leave KERNELS.md alone")
	only := flags.String("only", "", "run the tests of these packages, or of yama=LEVEL, separated by commas, and leave KERNELS.md alone")
	pattern := flags.String("run", allTests, "run only tests that match, and leave KERNELS.md alone")
	more := flags.String("flags", "", "more flags for the tests, with -only")
	tool := flags.String("tools", "", "programs of this host, separated by commas, that machines of its architecture have as well; leave KERNELS.md alone")
	verbose := flags.Bool("v", false, "print what tests print when they print it")
	cache := flags.String("cache", "", "directory for kernels (default: usdt-kernels in the user's cache directory)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen := kernels
	if flags.NArg() > 0 {
		chosen = nil
		for _, name := range flags.Args() {
			i := slices.IndexFunc(kernels, func(k kernel) bool { return k.String() == name })
			if i < 0 {
				fmt.Fprintf(stderr, "kernels: no kernel %s: there are %v\n", name, kernels)
				return 2
			}
			chosen = append(chosen, kernels[i])
		}
	}
	// A suite that hangs says where, also if it begins late.
	suiteFlags = append(suiteFlags, "-test.run="+*pattern, "-test.timeout="+(*limit*2/3).String())
	suiteFlags = append(suiteFlags, strings.Fields(*more)...)
	if *pattern != allTests {
		chosen = whole(chosen)
	}
	// A run for chosen tests is to show each time that they fail.
	for i := range suites {
		suites[i].Steady = *pattern != allTests || *more != ""
	}
	if *only != "" {
		names := strings.Split(*only, ",")
		suites = slices.DeleteFunc(suites, func(s report.Suite) bool { return !slices.Contains(names, s.Name()) })
	}
	if *tool != "" {
		tools = strings.Split(*tool, ",")
	}
	live := io.Discard
	if *verbose {
		live = stderr
	}
	results, err := testAll(chosen, *cache, *limit, *atATime, *cpus, stderr, live)
	ok := err == nil
	for _, r := range results {
		ok = r.print(stdout) && ok
	}
	printUnsteady(stdout, results)
	if err != nil {
		fmt.Fprintln(stderr, "kernels:", err)
		return 1
	}
	if whole := len(chosen) == len(kernels) && *only == "" && *pattern == allTests && *more == "" && *tool == "" && *cpus == 2; whole && (ok || *update) {
		text := table(results)
		if *update { // also if a test has failed, so that it alone has to be run again
			err = os.WriteFile(document, []byte(text), 0o644)
		} else if current, failed := compare(text); failed != nil {
			err = failed
		} else if !current {
			fmt.Fprintf(stderr, "kernels: %s says more than was seen: make test-kernels UPDATE=-update\n", document)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "kernels:", err)
	}
	if !ok || err != nil {
		return 1
	}
	return 0
}

// testAll boots every kernel and returns the result of each. It writes progress
// to stderr, and to live what the tests print.
func testAll(chosen []kernel, cache string, limit time.Duration, atATime, cpus int, stderr, live io.Writer) ([]result, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	if err := os.Chdir(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		cache = filepath.Join(user, "usdt-kernels")
	}
	tmp, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)

	// Build once for each architecture, when the first kernel asks for it.
	binaries := map[string]func() (string, error){}
	for _, k := range chosen {
		dir := filepath.Join(tmp, k.arch)
		binaries[k.arch] = sync.OnceValues(func() (string, error) { return dir, build(dir, k.arch) })
	}
	started := time.Now()
	log := func(k kernel, format string, args ...any) {
		fmt.Fprintf(stderr, "%4.0fs %-10s %s\n", time.Since(started).Seconds(), k, fmt.Sprintf(format, args...))
	}
	results := make([]result, len(chosen))
	errs := make([]error, len(chosen)) // a machine that hangs spoils only its own result
	var eg errgroup.Group
	eg.SetLimit(atATime)
	for i, k := range chosen {
		eg.Go(func() error {
			files, err := k.fetch(cache)
			if err != nil {
				return fmt.Errorf("fetch kernel %s: %w", k, err)
			}
			bin, err := binaries[k.arch]()
			if err != nil {
				return err
			}
			fs := filepath.Join(tmp, k.String())
			if err := writeInitramfs(fs, bin, k, files); err != nil {
				return fmt.Errorf("write initramfs: %w", err)
			}
			log(k, "boots %s", files.release)
			ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("killed after %s", limit))
			defer cancel()
			results[i], err = testOne(ctx, k, files.image(), fs, cpus, log, live)
			if err != nil {
				errs[i] = fmt.Errorf("kernel %s: %w", k, err)
			}
			return nil
		})
	}
	return results, errors.Join(append(errs, eg.Wait())...)
}

// testOne boots one kernel.
func testOne(ctx context.Context, k kernel, image, fs string, cpus int, log func(kernel, string, ...any), live io.Writer) (result, error) {
	r := result{kernel: k}
	var running string         // the suite that runs
	var output strings.Builder // its output
	began := time.Now()
	used, err := boot(ctx, k.arch, image, fs, cpus, func(m report.Message, console io.Writer) error {
		switch {
		case m.Compile != nil:
			// Use another goroutine: this one keeps the emulator from waiting for
			// room in its output.
			go toolchains[k.arch].answer(console, m.Compile)
		case m.Kernel != nil:
			r.seen = *m.Kernel
			log(k, "is up: %+v", r.seen)
		case m.Line != "":
			running = m.Suite
			output.WriteString(m.Line)
			fmt.Fprintf(live, "%s %s: %s", k, m.Suite, m.Line)
		case m.Exit != nil:
			s, err := readSuite(m.Suite, output.String(), *m.Exit)
			if err != nil {
				return err
			}
			if m.Again != nil {
				a := attempt{m.Suite, m.Again.Test, s}
				log(k, "%s: %s again, %d of %d: %s", a.suite, a.test, m.Again.Attempt, report.Attempts, s.summary())
				if !a.passed() {
					log(k, "%s again:\n%s", a.test, lastLines(output.String()))
				}
				output.Reset()
				r.again = append(r.again, a)
				return nil
			}
			output.Reset()
			log(k, "%s: %s", m.Suite, s.summary())
			for _, t := range s.tests {
				if t.action == "fail" {
					log(k, "%s failed:\n%s", t.name, lastLines(t.output))
				}
			}
			r.suites = append(r.suites, s)
		}
		return nil
	}, func() bool { return len(r.suites) == len(k.suites()) })
	if err != nil && output.Len() > 0 {
		err = fmt.Errorf("%w\n%s", err, lastLines(output.String()))
		if s, e := readSuite(running, output.String(), -1); e == nil {
			r.suites = append(r.suites, s)
		}
	}
	log(k, "ran for %.0f s, of which its emulator computed for %.0f s", time.Since(began).Seconds(), used.Seconds())
	r.settle()
	for _, name := range r.unsteady() {
		log(k, "UNSTEADY %s %s", name, unsteady)
	}
	return r, err
}

// lastLines returns the end of a text.
func lastLines(s string) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-consoleTail):], "")
}
