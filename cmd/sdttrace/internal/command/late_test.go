package command

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/internal/gate"
)

// slowSearch is a search that takes until the channel is closed.
type slowSearch chan struct{}

func (s slowSearch) RescanHeld() error {
	<-s
	return nil
}

func (s slowSearch) Members() *ebpf.Map { return nil }

// tellingWriter sends what is written to a channel.
type tellingWriter chan string

func (w tellingWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

// TestLateRemark checks that sdttrace reports when it attaches to a provider's
// probes after the provider has given up waiting.
func TestLateRemark(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c := &Command{cmd: &exec.Cmd{Process: self}, ended: make(chan struct{})}
	h := &hold{c: c}
	if h.providers, h.missing = gate.Listen(); h.missing != nil {
		t.Fatal(h.missing)
	}
	search, said := make(slowSearch), make(tellingWriter)
	h.begin(search, said)
	_, address, _ := strings.Cut(h.providers.Environment(), "=")
	if err := await.Tracer(address, time.Second); err == nil {
		t.Error("the tracer has answered")
	}
	close(search)
	got := <-said
	before, after, ok := strings.Cut(strings.TrimPrefix(got, "sdttrace: probes that the command has declared are attached to, up to "), " ms late: ")
	took, err := strconv.ParseFloat(before, 64)
	if err != nil || !ok || after != "it did not wait\n" || took < 0 {
		t.Errorf("got %q", got)
	}
	h.close()
}
