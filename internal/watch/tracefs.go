package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tracefs has the paths at which tracefs is mounted.
var tracefs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// uprobeEvents adds the events of tracefs. An event that is not enabled there may
// belong to a perf event, and so to any process with perf events that are not known.
func (w *Watchers) uprobeEvents(unknown []holder) {
	var list []byte
	var dir string
	var first error
	for _, dir = range tracefs {
		var err error
		if list, err = os.ReadFile(filepath.Join(dir, "uprobe_events")); err == nil {
			break
		}
		if first == nil && !errors.Is(err, os.ErrNotExist) {
			first = err
		}
	}
	if list == nil && first != nil {
		w.Unseen = append(w.Unseen, fmt.Errorf("uprobe_events: %w", first))
	}
	for line := range strings.Lines(string(list)) {
		event, path, offset, ok := parseUprobeEvent(strings.TrimSpace(line))
		if !ok {
			continue
		}
		watcher := Watcher{Kind: "uprobe_events", Event: event}
		if enabled(dir, event) {
			w.add([]uint64{offset}, watchedSite{path, 0, watcher})
		}
		for _, who := range unknown {
			maybe := watcher
			maybe.PID, maybe.Comm, maybe.Maybe = who.pid, who.comm, true
			w.add([]uint64{offset}, watchedSite{path, 0, maybe})
		}
	}
}

// parseUprobeEvent parses a line of uprobe_events, as kernel/trace/trace_uprobe.c
// (trace_uprobe_show) writes it: "p:GROUP/NAME PATH:0xOFFSET(0xCOUNTER) ARG ...".
func parseUprobeEvent(line string) (event, path string, offset uint64, ok bool) {
	kind, rest, ok := strings.Cut(line, ":")
	if !ok || kind != "p" && kind != "r" {
		return "", "", 0, false
	}
	event, rest, ok = strings.Cut(rest, " ")
	if !ok || !strings.Contains(event, "/") {
		return "", "", 0, false
	}
	// A path may have spaces and colons; what follows it has no ":0x".
	colon := strings.LastIndex(rest, ":0x")
	if colon < 0 {
		return "", "", 0, false
	}
	path = rest[:colon]
	digits := rest[colon+len(":0x"):]
	if end := strings.IndexAny(digits, " ("); end >= 0 {
		digits = digits[:end]
	}
	offset, err := strconv.ParseUint(digits, 16, 64)
	return event, path, offset, err == nil
}

// enabled reports whether tracefs, in any of its instances, records an event.
func enabled(dir, event string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "instances", "*", "events", event, "enable"))
	for _, file := range append(files, filepath.Join(dir, "events", event, "enable")) {
		if state, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(state), "1") {
			return true
		}
	}
	return false
}
