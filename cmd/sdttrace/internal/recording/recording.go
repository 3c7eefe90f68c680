// Package recording finds the recordings that --from names, and says what they have kept.
package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// Find finds the recordings that values of --from name, and what a pattern of the shell has put
// behind one, among args. It returns the other args.
func Find(from, args []string, stderr io.Writer) (set *Set, rest []string, err error) {
	set = &Set{}
	from = slices.Clone(from)
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil && (!strings.Contains(arg, ":") || strings.HasSuffix(arg, suffix)) {
			from = append(from, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	for _, arg := range from {
		files, err := of(arg)
		if err != nil {
			return nil, nil, err
		}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			files = set.readable(files)
		}
		set.Files = append(set.Files, files...)
	}
	set.Files = tracefile.Distinct(set.Files)
	set.announceUnreadable(stderr)
	return set, rest, nil
}

// announceFile says what a file of sdttrace record has.
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
		fmt.Fprintf(stderr, "; its end is torn, and %s left out", printable.Many(f.Torn, "byte is", "bytes are"))
	case !f.Ended:
		fmt.Fprint(stderr, "; it was not ended: sdttrace still writes it, or was killed")
	}
	if f.Damaged > 0 {
		fmt.Fprintf(stderr, "; it is damaged, and %s left out", printable.Many(f.Damaged, "byte within it is", "bytes within it are"))
	}
	fmt.Fprintln(stderr)
}

// AnnounceLosses says on stderr why events of the recordings were lost: which files of
// sdttrace record are damaged, and what was lost when they were written.
func (r *Set) AnnounceLosses(s session.Session, stderr io.Writer) {
	if st, err := s.Stats(); err != nil || st.Lost == 0 {
		return
	}
	for _, path := range r.Files {
		f, err := tracefile.Open(path)
		if err != nil {
			continue // a flight recorder's, about which Announce reports
		}
		before := f.Damaged
		for _, err := range f.Records() {
			if err != nil {
				break
			}
		}
		if f.Counts.Lost > 0 {
			fmt.Fprintf(stderr, "sdttrace: %s: %s lost when it was recorded, of any probe: a larger --buffer of sdttrace record helps\n", path, printable.Many(f.Counts.Lost, "event was", "events were"))
		}
		if f.Illegible > 0 {
			fmt.Fprintf(stderr, "sdttrace: %s lacks %s of any probe: it is damaged, and %s left out\n", path, printable.Many(f.Illegible, "event", "events"), printable.Many(f.Damaged-before, "byte of records is", "bytes of records are"))
		}
		f.Close()
	}
}

// suffix is that of a recording's file.
const suffix = ".usdt"

// of returns the recordings that a value of --from names: a file, a directory, a
// process, or DIR/PID for a process that has ended.
func of(arg string) ([]string, error) {
	if pid, err := strconv.Atoi(arg); err == nil {
		dir, _, _ := strings.Cut(os.Getenv("USDT_RECORDER"), ",")
		return ofProcess(pid, dir)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return in(arg, "")
	case err == nil:
		return []string{arg}, nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read the recording %s: %w", arg, errors.Unwrap(err))
	}
	if pid, err := strconv.Atoi(filepath.Base(arg)); err == nil {
		return ofProcess(pid, filepath.Dir(arg))
	}
	return nil, fmt.Errorf("there is no recording %s", arg)
}

// in returns the recordings in a directory whose names have a part; at least
// one if that is empty.
func in(dir, part string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for recordings in %s: %w", dir, errors.Unwrap(err))
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && strings.Contains(e.Name(), part) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 && part == "" {
		return nil, fmt.Errorf("there is no recording in %s: their names end in %s", dir, suffix)
	}
	return files, nil
}

// ofProcess returns the recordings that a process has mapped or, if there is
// none, the ones of its PID in a directory.
func ofProcess(pid int, dir string) (files []string, err error) {
	maps, missing := procfs.Maps(pid)
	if missing == nil && len(maps) == 0 {
		missing = os.ErrNotExist // it has ended, and its parent has not waited for it
	}
	err = missing
	mapped := map[string]bool{}
	for _, m := range maps {
		if !strings.HasSuffix(m.Path, suffix) || mapped[m.Path] {
			continue
		}
		mapped[m.Path] = true
		files = append(files, pathOf(pid, &m))
	}
	if len(files) == 0 && dir != "" {
		if files, err = in(dir, fmt.Sprintf("-%d-", pid)); err != nil {
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
		return nil, fmt.Errorf("there is no process %d: if it ran with a flight recorder (USDT_RECORDER=DIR), its recording is in that directory: --from DIR/%d", pid, pid)
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

// Set are recordings.
type Set struct {
	Files      []string
	unreadable []error // of files that directories have
}

// Paths returns the files; nil of no recordings, which are live processes.
func (r *Set) Paths() []string {
	if r == nil {
		return nil
	}
	return r.Files
}

// readable returns the files of a directory that can be read, and notes why others cannot.
// It returns all if none can: the error will say why.
func (r *Set) readable(files []string) []string {
	var some []string
	var errs []error
	for _, path := range files {
		if err := try(path); err != nil {
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

// Is reports whether a file is a recording of either kind.
func Is(path string) bool { return try(path) == nil }

// try returns why a file cannot be read as a recording of either kind.
func try(path string) error {
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
func (r *Set) announceUnreadable(stderr io.Writer) {
	some := r.unreadable[:min(len(r.unreadable), maxAnnounced)]
	for _, err := range some {
		fmt.Fprintf(stderr, "sdttrace: %v; it is left out\n", err)
	}
	if more := len(r.unreadable) - len(some); more > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s\n", printable.Many(more, "more file is no recording that can be read: it is left out", "more files are no recordings that can be read: they are left out"))
	}
}

// Announce says on stderr what the recordings have kept.
func (r *Set) Announce(stderr io.Writer) {
	some := r.Files[:min(len(r.Files), maxAnnounced)]
	if more := len(r.Files) - len(some); more > 0 {
		defer fmt.Fprintf(stderr, "sdttrace: and %s\n", printable.Many(more, "more recording", "more recordings"))
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
		fmt.Fprintf(stderr, "sdttrace: %s: process %d (%s), from %s: the last %d of %s", path, f.PID, f.Comm, f.Begun.Format("2006-01-02 15:04:05"), c.Kept, printable.Many(c.Recorded, "event", "events"))
		if c.Damaged > 0 && c.Illegible > 0 {
			about := "about "
			if c.Exact {
				about = ""
			}
			fmt.Fprintf(stderr, "; the file is damaged, and %s%s left out", about, printable.Many(c.Illegible, "event of it is", "events of it are"))
		}
		if c.Unknown > 0 {
			fmt.Fprintf(stderr, "; %s of probes whose description is damaged", printable.Many(c.Unknown, "event is", "events are"))
		}
		fmt.Fprintln(stderr)
		f.Close()
	}
}
