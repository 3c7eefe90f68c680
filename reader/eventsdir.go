package reader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
)

// ErrNoObject is the SiteErr of probes that an events directory shows.
var ErrNoObject = errors.New("an events directory does not say in which file the site is")

const (
	maxEventFormat  = 256 << 10 // bytes of a file "format"
	maxEventAddress = 64        // bytes of a file "address"
)

// IsEventsDir reports whether dir holds a probe as package provider's
// Options.EventsDir shows it: FORMAT.md, "Events directories".
func IsEventsDir(dir string) bool {
	for at, err := range eventDirs(dir) {
		if err != nil {
			continue
		}
		if _, err := procfs.Stat(filepath.Join(at.path, "address")); err == nil {
			return true
		}
	}
	return false
}

// EventsDirProbes returns the probes that an events directory shows, by process, provider
// and name, except for the files of processes that have ended. Reading them takes no privilege:
// a probe has its names, its place in Live, and a Type without the members of structs. It
// has neither a note's arguments nor a place in a file, as its SiteErr says: [OpenProcess]
// finds those.
func EventsDirProbes(dir string) iter.Seq2[Probe, error] {
	return func(yield func(Probe, error) bool) {
		running := map[int]bool{}
		pids, unknown := procfs.PIDs()
		for _, pid := range pids {
			running[pid] = true
		}
		for at, err := range eventDirs(dir) {
			var p Probe
			switch {
			case err == nil && unknown == nil && !running[at.pid]:
				continue
			case err == nil:
				p, err = at.probe()
			}
			if errors.Is(err, fs.ErrNotExist) { // hidden meanwhile
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// eventDir is the directory of a probe.
type eventDir struct {
	path, process  string // its directory and that of its process
	pid            int
	provider, name string
}

// eventDirs yields the directories of probes in dir. An error stands for a directory that
// could not be read.
func eventDirs(dir string) iter.Seq2[eventDir, error] {
	return func(yield func(eventDir, error) bool) {
		for process, err := range below(dir, nil) {
			at := eventDir{process: filepath.Join(dir, process)}
			if at.pid, _ = strconv.Atoi(process); err == nil && (at.pid <= 0 || strconv.Itoa(at.pid) != process) {
				continue
			}
			for provider, err := range below(at.process, err) {
				at.provider = provider
				for name, err := range below(filepath.Join(at.process, provider), err) {
					at.name, at.path = name, filepath.Join(at.process, provider, name)
					if !yield(at, err) {
						return
					}
				}
			}
		}
	}
}

// below yields the names of the directories in dir, or the error.
func below(dir string, err error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var entries []fs.DirEntry
		if err == nil {
			entries, err = procfs.ReadDir(dir)
		}
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if e.IsDir() && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// probe reads the files of a probe.
func (at *eventDir) probe() (Probe, error) {
	p := Probe{
		Note:    notes.Note{Provider: at.provider, Name: at.name},
		Path:    at.process,
		Live:    &Live{PID: at.pid},
		SiteErr: ErrNoObject,
	}
	text, err := at.read("address", maxEventAddress)
	if err != nil {
		return p, err
	}
	if p.Live.Address, err = strconv.ParseUint(strings.TrimSuffix(text, "\n"), 0, 64); err != nil {
		return p, fmt.Errorf("%s: address %q is no number", at.path, text)
	}
	if text, err = at.read("format", maxEventFormat); err != nil {
		return p, err
	}
	name, members, err := parseEventFormat(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(at.path, "format"), err)
	}
	if name != at.name && !strings.HasPrefix(at.name, name+".") {
		return p, fmt.Errorf("%s: its format is of probe %q", at.path, name)
	}
	p.Name = name
	if len(members) > 0 {
		st := &btf.Struct{Members: members}
		p.Type = &Type{Struct: st, Fields: Fields(st)}
	}
	return p, nil
}

// read returns the contents of a file of the probe.
func (at *eventDir) read(name string, limit int64) (string, error) {
	path := filepath.Join(at.path, name)
	f, err := procfs.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	return string(b), err
}
