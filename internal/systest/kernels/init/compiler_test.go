//go:build linux

package main

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/kernels/report"
)

// repeats answers a request when it has come often enough, and damages the answers before.
type repeats struct {
	to   io.Writer
	left int
}

func (r *repeats) Write(line []byte) (int, error) {
	m, ok := report.Parse(line)
	if !ok || m.Compile == nil {
		return len(line), nil
	}
	answer, err := json.Marshal(report.Compiled{ID: m.Compile.ID, Output: "compiled"})
	if r.left--; r.left >= 0 {
		answer = answer[:len(answer)/2]
	}
	go r.to.Write(append(answer, '\n'))
	return len(line), err
}

// TestAnswers loses pieces of answers.
func TestAnswers(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	asked := answers{waiting: map[int]chan []byte{}, patience: time.Millisecond}
	go asked.read(in)
	var reply report.Compiled
	line := asked.ask(report.NewWriter(&repeats{out, 3}), &report.Compile{ID: 5})
	if err := json.Unmarshal(line, &reply); err != nil || reply.ID != 5 || reply.Output != "compiled" {
		t.Errorf("answer %q, error %v", line, err)
	}
}
