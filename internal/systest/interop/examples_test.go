package interop_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// trace returns the first event of a probe in a process.
func trace(t *testing.T, pid int, selector string, meanwhile func()) event.Event {
	t.Helper()
	s, err := attach.Open(soon(t), []string{selector}, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	meanwhile()
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	t.Fatalf("%s: no event", selector)
	return event.Event{}
}

func values(ev event.Event) string {
	var b strings.Builder
	for _, a := range ev.Args {
		fmt.Fprintf(&b, "%s=%v ", a.Name, a.Value)
	}
	return b.String()
}

func TestMiddlewareExample(t *testing.T) {
	need(t)
	pid, line := start(t, needs.Build(t, "examples/middleware"))
	url := line[strings.LastIndex(line, " ")+1:]
	ev := trace(t, pid, "web:request_done", func() {
		resp, err := http.Get(url + "/none")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
	if got := values(ev); !strings.HasPrefix(got, "id=1 path=/none status=404 bytes=19 took=") {
		t.Errorf("got %s", got)
	}
}

func TestSlogExample(t *testing.T) {
	need(t)
	pid, _ := start(t, needs.Build(t, "examples/slog"))
	ev := trace(t, pid, "logs:record", func() {})
	if got := values(ev); !strings.HasPrefix(got, "level=-4 msg=tick attrs=service=demo i=") {
		t.Errorf("got %s", got)
	}
}

// TestPackagesExample traces a service whose packages declare their probes, which
// main loads.
func TestPackagesExample(t *testing.T) {
	need(t)
	pid, _ := start(t, needs.Build(t, "examples/packages"))
	for selector, want := range map[string]string{
		"packages:store_get":    "key=/page/",
		"packages:request_done": "path=/page/",
	} {
		if got := values(trace(t, pid, selector, func() {})); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s…", selector, got, want)
		}
	}
}

// TestBuilds builds the hello example in each way that services are built, and
// traces it.
func TestBuilds(t *testing.T) {
	need(t, "gcc", "musl-gcc")
	for _, tt := range []struct {
		name string
		args []string
		env  []string
	}{
		{"no cgo", nil, []string{"CGO_ENABLED=0"}},
		{"race", []string{"-race"}, []string{"CGO_ENABLED=1"}},
		{"pie", []string{"-buildmode=pie"}, []string{"CGO_ENABLED=0"}},
		{"static", []string{"-tags", "netgo", "-ldflags", "-linkmode external -extldflags -static"}, []string{"CGO_ENABLED=1"}},
		{"musl", []string{"-ldflags", "-linkmode external -extldflags -static"}, []string{"CGO_ENABLED=1", "CC=musl-gcc"}},
		{"dlopen", []string{"-tags", "usdt_dlopen"}, []string{"CGO_ENABLED=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exe := t.TempDir() + "/hello"
			cmd := exec.Command("go", append(append([]string{"build", "-o", exe}, tt.args...), "github.com/go-usdt/usdt/examples/hello")...)
			cmd.Env = append(cmd.Environ(), tt.env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			pid, _ := start(t, exe)
			ev := trace(t, pid, "hello:tick", func() {})
			if got := values(ev); !strings.Contains(got, "msg=tick ") || !strings.Contains(got, "seq=") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestBuildsElsewhere builds the producing side for an architecture without stubs. In package
// supply, TestPorts checks the types for the other architectures, and TestOtherSystems for systems other
// than Linux. A build for each would compile a standard library.
func TestBuildsElsewhere(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "build", "github.com/go-usdt/usdt/provider", "github.com/go-usdt/usdt/examples/hello")
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=386", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
