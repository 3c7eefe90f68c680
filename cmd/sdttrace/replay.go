package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/tracefile"
)

const replayExample = `  sdttrace replay /var/crash/myapp-4711-1795361234567.usdt   all that it kept
  sdttrace replay 4711 'myapp:request_*'             a process that runs, or ran, by its PID
  sdttrace replay --hist ms --by path /var/crash     all recordings in a directory
  sdttrace replay --where 'status >= 500' --json *.usdt myapp:request_done
  sdttrace --record day.usdt 'postgres*:query__*'    write events to a file, and then …
  sdttrace replay day.usdt --count --by comm         … anything else of it
  sdttrace --record day.usdt --stack 'myapp:*'       with stacks, and then …
  sdttrace replay day.usdt --pprof day.pb.gz         … a profile of them`

func newReplayCommand(stdout, stderr io.Writer) *cobra.Command {
	f := traceFlags{link: "auto"}
	cmd := &cobra.Command{
		Use:   "replay [flags] PID|FILE|DIR... [PROBE...]",
		Short: "Show what sdttrace --record or a flight recorder has kept",
		Long: `replay prints the events that sdttrace --record FILE has written, or the last ones of
a Go service that has a flight recorder: one that was made so, or runs with
USDT_RECORDER=DIR. It needs no privilege but to read the file, and the process
need not live any more: however it ended, by kill -9, a panic or for want of
memory, its last events are in the file.

A FILE is a recording of either kind, a DIR stands for all recordings in it that can be read. A PID is of a
process that runs, or, in the directory of USDT_RECORDER or --dir, of one that
ran. PROBE is [PATH:]PROVIDER:NAME, as for sdttrace; without any, all probes are
shown. Events of several recordings are merged by the time at which they fired, and
printed, filtered and added up as live ones are. That time is meant by --interval,
whose groups have the time of its end, and by --snapshot-every. What is damaged is
left out, and said. --perfetto writes a timeline, by the wall clock,
and --html a page for browsers. --stack, --by stack, --pprof and --folded show the
stacks that --record --stack has kept, with the names that sdttrace gave them then;
flight recorders keep none.`,
		Example: replayExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a recording: a PID, a FILE or a DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _ := cmd.Flags().GetString("dir")
			probes, err := f.openReplay(args, dir)
			if err != nil {
				return err
			}
			f.replayed.announceUnreadable(stderr)
			if err := f.checkGiven(cmd.Flags()); err != nil {
				return usageError{err}
			}
			return f.trace(cmd.Context(), probes, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.where, "where", "", "show only what this condition holds for, e.g. 'status >= 500'")
	f.aggregate.register(flags)
	f.snapshots.register(flags)
	flags.StringVar(&f.format, "format", "text", "output format: text or json")
	flags.BoolVar(&f.json, "json", false, "same as --format json: one object a line")
	registerFields(flags, &f.fields)
	flags.Uint64Var(&f.limit, "limit", 0, "end after this many events")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks on stderr but errors and the summary")
	flags.IntVar(&f.maxString, "max-string", 0, "bytes to show of each string (default 1024, if so many were kept)")
	f.timeline.register(flags)
	f.page.register(flags)
	registerStack(flags, &f.stack)
	flags.Lookup("stack").Usage = "print the calls that led to each event, N of them at most, of what --record --stack has written"
	f.profile.register(flags)
	flags.StringSliceVar(&f.providers, "providers", nil, providersUsage)
	flags.String("dir", "", "where recordings of processes are (default that of USDT_RECORDER)")
	flags.Lookup("interval").Usage = "print the groups of each interval of the recorded time, e.g. 1s (default one of all)"
	return cmd
}

// openReplay finds the recordings that the arguments name, and returns the probes.
func (f *traceFlags) openReplay(args []string, dir string) (probes []string, err error) {
	if dir == "" {
		dir, _, _ = strings.Cut(os.Getenv("USDT_RECORDER"), ",")
	}
	f.replayed = &replayed{}
	named := map[string]bool{}
	for _, arg := range args {
		files, err := recordingsOf(arg, dir)
		if err != nil {
			return nil, err
		}
		if files == nil {
			probes = append(probes, arg)
		}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			files = f.replayed.readable(files)
		}
		for _, file := range files {
			if !named[file] {
				named[file] = true
				f.replayed.files = append(f.replayed.files, file)
			}
		}
	}
	if len(f.replayed.files) == 0 {
		return nil, usageError{errors.New("name a recording: a PID, a FILE or a DIR")}
	}
	if len(probes) == 0 && f.aggregate.latency == "" && len(f.timeline.spans) == 0 {
		probes = []string{"*:*"}
	}
	return probes, nil
}

// announceFile says what a file of --record has.
func announceFile(stderr io.Writer, path string) {
	f, err := tracefile.Open(path)
	if err != nil {
		return // the session says so
	}
	defer f.Close()
	fmt.Fprintf(stderr, "sdttrace: %s: %s, recorded from %s", path, strings.Join(f.Info.Selectors, " "), f.Info.Begun.Local().Format("2006-01-02 15:04:05"))
	if f.Info.Where != "" {
		fmt.Fprintf(stderr, ", where %s", f.Info.Where)
	}
	if f.Info.Sample > 1 {
		fmt.Fprintf(stderr, ", one event in %d", f.Info.Sample)
	}
	switch {
	case f.Torn > 0:
		fmt.Fprintf(stderr, "; its end is torn, and %d bytes are left out", f.Torn)
	case !f.Ended:
		fmt.Fprint(stderr, "; it was not ended: sdttrace still writes it, or was killed")
	}
	if f.Damaged > 0 {
		fmt.Fprintf(stderr, "; it is damaged, and %d bytes within it are left out", f.Damaged)
	}
	fmt.Fprintln(stderr)
}

// announceLosses says on stderr why events of the recordings were lost: which files of
// --record are damaged, and what was lost when they were written.
func (r *replayed) announceLosses(s tracer, stderr io.Writer) {
	if st, err := s.Stats(); err != nil || st.Lost == 0 {
		return
	}
	for _, path := range r.files {
		f, err := tracefile.Open(path)
		if err != nil {
			continue // a flight recorder's, of which announce says it
		}
		before := f.Damaged
		for _, err := range f.Records() {
			if err != nil {
				break
			}
		}
		if f.Counts.Lost > 0 {
			fmt.Fprintf(stderr, "sdttrace: %s: %d events were lost when it was recorded, of any probe: a larger --buffer of sdttrace --record helps\n", path, f.Counts.Lost)
		}
		if f.Illegible > 0 {
			fmt.Fprintf(stderr, "sdttrace: %s lacks %d events of any probe: it is damaged, and %d bytes of records are left out\n", path, f.Illegible, f.Damaged-before)
		}
		f.Close()
	}
}

// recordingSuffix is that of a recording's file.
const recordingSuffix = ".usdt"

// recordingsOf returns the recordings that an argument names; nil if it is a probe.
func recordingsOf(arg, dir string) ([]string, error) {
	if pid, err := strconv.Atoi(arg); err == nil {
		return recordingsOfProcess(pid, dir)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return recordingsIn(arg, "")
	case err == nil:
		return []string{arg}, nil
	case strings.Contains(arg, ":"):
		return nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no recording %s", arg)
	}
	return nil, fmt.Errorf("read the recording %s: %w", arg, errors.Unwrap(err))
}

// recordingsIn returns the recordings in a directory whose names have a part; at least
// one if that is empty.
func recordingsIn(dir, part string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for recordings in %s: %w", dir, errors.Unwrap(err))
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), recordingSuffix) && strings.Contains(e.Name(), part) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 && part == "" {
		return nil, fmt.Errorf("there is no recording in %s: their names end in %s", dir, recordingSuffix)
	}
	return files, nil
}

// recordingsOfProcess returns the recordings that a process has mapped or, if there is
// none, those of its PID in a directory.
func recordingsOfProcess(pid int, dir string) (files []string, err error) {
	maps, missing := procfs.Maps(pid)
	err = missing
	mapped := map[string]bool{}
	for _, m := range maps {
		if !strings.HasSuffix(m.Path, recordingSuffix) || mapped[m.Path] {
			continue
		}
		mapped[m.Path] = true
		files = append(files, pathOf(pid, &m))
	}
	if len(files) == 0 && dir != "" {
		if files, err = recordingsIn(dir, fmt.Sprintf("-%d-", pid)); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			err = missing
		}
	}
	switch {
	case len(files) > 0:
		return files, nil
	case errors.Is(err, os.ErrNotExist) && dir == "":
		return nil, fmt.Errorf("process %d has ended: say in which directory its recording is by --dir, or name the file", pid)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("process %d has ended, and there is no recording of it in %s", pid, dir)
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("process %d has no flight recorder: it would have to run with USDT_RECORDER=DIR", pid)
}

// pathOf returns a path by which this process can open a file that another one has
// mapped, and may see at another path.
func pathOf(pid int, m *procfs.Mapping) string {
	if info, err := os.Stat(m.Path); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino == m.Inode {
			return m.Path
		}
	}
	return fmt.Sprintf("/proc/%d/root%s", pid, m.Path)
}

// replayed are recordings.
type replayed struct {
	files      []string
	unreadable []error // of files that directories have
}

// readable returns those of a directory's files that can be read, and notes why others cannot.
// It returns all if none can: the error will say why.
func (r *replayed) readable(files []string) []string {
	var some []string
	var errs []error
	for _, path := range files {
		if err := readRecording(path); err != nil {
			errs = append(errs, fmt.Errorf("read the recording %s: %w", path, err))
			continue
		}
		some = append(some, path)
	}
	if len(some) == 0 {
		return files
	}
	r.unreadable = append(r.unreadable, errs...)
	return some
}

// readRecording returns why a file cannot be read as a recording of either kind.
func readRecording(path string) error {
	if tracefile.Is(path) {
		f, err := tracefile.Open(path)
		if err != nil {
			return err
		}
		return f.Close()
	}
	f, err := ring.OpenRecording(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// maxAnnounced is how many recordings are announced one by one.
const maxAnnounced = 20

// announceUnreadable says on stderr which files of directories are left out.
func (r *replayed) announceUnreadable(stderr io.Writer) {
	some := r.unreadable[:min(len(r.unreadable), maxAnnounced)]
	for _, err := range some {
		fmt.Fprintf(stderr, "sdttrace: %v; it is left out\n", err)
	}
	if more := len(r.unreadable) - len(some); more > 0 {
		fmt.Fprintf(stderr, "sdttrace: %d more files cannot be read as recordings; they are left out\n", more)
	}
}

// announce says on stderr what the recordings have kept.
func (r *replayed) announce(stderr io.Writer) {
	some := r.files[:min(len(r.files), maxAnnounced)]
	if more := len(r.files) - len(some); more > 0 {
		defer fmt.Fprintf(stderr, "sdttrace: and %d more recordings\n", more)
	}
	for _, path := range some {
		if tracefile.Is(path) {
			announceFile(stderr, path)
			continue
		}
		f, err := ring.OpenRecording(path)
		if err != nil {
			continue // the session says so
		}
		c := f.Counts()
		fmt.Fprintf(stderr, "sdttrace: %s: process %d (%s), from %s: the last %d of %d events", path, f.PID, f.Comm, f.Begun.Format("2006-01-02 15:04:05"), c.Kept, c.Recorded)
		if c.Damaged > 0 && c.Illegible > 0 {
			about := "about "
			if c.Exact {
				about = ""
			}
			fmt.Fprintf(stderr, "; the file is damaged, and %s%d events of it are left out", about, c.Illegible)
		}
		if c.Unknown > 0 {
			fmt.Fprintf(stderr, "; %d events are of probes whose description is damaged", c.Unknown)
		}
		fmt.Fprintln(stderr)
		f.Close()
	}
}
