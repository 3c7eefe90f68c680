package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/provider"
)

// TestRun reads what is left of a provider.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	p := provider.New("blackbox", &provider.Options{FlightRecorder: &provider.FlightRecorder{Dir: dir}})
	step := provider.NewProbe2[int, string](p, "step", "n", "what")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		step.Fire(i, "turn")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, 3, files...); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	for i := range 3 {
		var ev event.Event
		if err := d.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		if ev.Name != "step" || ev.Args[0].Value != int64(97+i) || ev.Args[1].Value != "turn" {
			t.Errorf("got %+v, want event %d", ev, 97+i)
		}
	}
	if d.More() {
		t.Error("more than 3 events")
	}
}
