package tracepoint

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestEvents reads a tracefs, and checks what is said of tracepoints to which no program can be attached.
func TestEvents(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const format = "format:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"
	events := New(fstest.MapFS{
		"enable":                 file("0\n"),
		"sched/enable":           file("0\n"),
		"sched/good/id":          file("17\n"),
		"sched/good/format":      file(format),
		"sched/bare/format":      file(format),
		"sched/odd/id":           file("18\n"),
		"sched/odd/format":       file("format:\n\tfield:what\n"),
		"sched/lacking/id":       file("19\n"),
		"sched/large/id":         file("20\n"),
		"sched/large/format":     file(strings.Repeat(" ", maxFormat+1)),
		"mine/probe/id":          file("21\n"),
		"mine/probe/format":      file("format:\n\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"),
		"mine/unnumbered/id":     file("x\n"),
		"mine/unnumbered/format": file(format),
	})
	systems, err := events.Systems()
	if diff := cmp.Diff([]string{"mine", "sched"}, systems); diff != "" || err != nil {
		t.Errorf("systems (-want +got):\n%s, error %v", diff, err)
	}
	names, err := events.Of("sched")
	if diff := cmp.Diff([]string{"bare", "good", "lacking", "large", "odd"}, names); diff != "" || err != nil {
		t.Errorf("events (-want +got):\n%s, error %v", diff, err)
	}
	if _, err := events.Of("none"); err == nil {
		t.Error("a system that does not exist has events")
	}
	p := events.Probe("sched", "good")
	if p.SiteErr != nil || p.Kind != reader.Tracepoint || p.Location != 17 || p.Offset != 17 || len(p.Kernel.Fields) != 1 || p.Provider != "sched" || p.Name != "good" {
		t.Errorf("the probe is %+v, %+v", p, p.Kernel)
	}
	for event, want := range map[string]string{
		"sched/bare": "it has no number", "sched/odd": "its format is not understood", "sched/lacking": "its format cannot be read",
		"sched/large": "it is larger than", "mine/probe": "it is a probe that somebody has made in tracefs", "mine/unnumbered": "its number is not understood",
	} {
		system, name, _ := strings.Cut(event, "/")
		if p := events.Probe(system, name); p.SiteErr == nil || !strings.Contains(p.SiteErr.Error(), want) {
			t.Errorf("%s: error %v, want %q", event, p.SiteErr, want)
		}
	}
	if p := events.Probe("sched", "odd"); !errors.Is(p.SiteErr, ErrFormat) {
		t.Errorf("the error %v is not ErrFormat", p.SiteErr)
	}
}

// TestMounted reads tracepoints of a tracefs that is mounted for this process alone.
func TestMounted(t *testing.T) {
	root, err := mounted()
	if err != nil {
		needs.Skip(t, "this kernel does not let this process mount tracefs: %v", err)
	}
	defer root.Close()
	here, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	want, err := here.Systems()
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(root.FS()).Systems()
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(got) == 0 {
		t.Errorf("systems (-mounted +private):\n%s, error %v", diff, err)
	}
}
