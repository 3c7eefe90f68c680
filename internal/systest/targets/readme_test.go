package targets_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// uncommented returns a command without the comment behind it.
func uncommented(command string) string {
	command, _, _ = strings.Cut(command, "    #")
	return strings.TrimSpace(regexp.MustCompile(` +# .*$`).ReplaceAllString(command, ""))
}

// testedElsewhere are commands of README that have tests of their own: the demo in cmd/sdttrace, and
// the collector in otelcol/usdtreceiver.
var testedElsewhere = []string{
	"go run ./cmd/sdttrace demo", "make otelcol", "sudo bin/otelcol/otelcol-usdt --config otelcol/example.yaml &", "curl localhost:8889/metrics",
}

// TestReadmeOnPages checks that each command of README stands on a page whose commands the other
// tests run, or has tests of its own.
func TestReadmeOnPages(t *testing.T) {
	var run []string
	for _, path := range []string{tracing, unprivileged, recording, recipes} {
		for _, c := range commands(t, path) {
			run = append(run, uncommented(c))
		}
	}
	all := commands(t, readme)
	if len(all) < 10 {
		t.Fatalf("README has %d commands", len(all))
	}
	for _, c := range all {
		if c := uncommented(c); !slices.Contains(run, c) && !slices.Contains(testedElsewhere, c) {
			t.Errorf("README's %s is on no page whose commands are run", c)
		}
	}
}

// TestReadmeProgram builds README's program and checks that its events look like
// those in docs/tracing.md.
func TestReadmeProgram(t *testing.T) {
	k := newKitchen(t, tracing)
	_, source, _ := strings.Cut(document(t, readme), "```go\n")
	source, _, _ = strings.Cut(source, "```\n")
	main := filepath.Join(k.dir, "main.go")
	if err := os.WriteFile(main, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, "go", "build", "-o", filepath.Join(k.dir, "myapp"), main)
	trace := func(args ...string) string {
		args = append(append([]string{"--limit", "1"}, args...), "myapp:request_*", "--", "./myapp")
		cmd := exec.Command("./sdttrace", args...)
		cmd.Dir = k.dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("sdttrace %q: %v\n%s", args, err, &stderr)
		}
		return string(out)
	}
	var text, object string
	for line := range strings.Lines(document(t, tracing)) {
		switch {
		case strings.Contains(line, " myapp:request_start id="):
			text = strings.TrimSpace(line)
		case strings.HasPrefix(line, "{"):
			object = line
		}
	}
	like := regexp.MustCompile(`\d+`).ReplaceAllString(regexp.QuoteMeta(text), `\d+`)
	if got := trace(); text == "" || !regexp.MustCompile("^"+like+"\n$").MatchString(got) {
		t.Errorf("got %q, README has %q", got, text)
	}
	if d := cmp.Diff(withoutNumbers(t, object), withoutNumbers(t, trace("--json"))); d != "" {
		t.Errorf("event as JSON (-README +got):\n%s", d)
	}
}

// withoutNumbers returns an event with a word in place of each value that differs
// between events.
func withoutNumbers(t *testing.T, event string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(event), &m); err != nil {
		t.Fatalf("%q: %v", event, err)
	}
	args, _ := m["args"].(map[string]any)
	for _, part := range []map[string]any{m, args} {
		for key, value := range part {
			if _, ok := value.(float64); ok {
				part[key] = "number"
			}
		}
	}
	if text, _ := m["time"].(string); regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`).MatchString(text) {
		m["time"] = "nanoseconds"
	}
	return m
}

// TestReadmeCommands runs the commands of docs/tracing.md as they are written.
func TestReadmeCommands(t *testing.T) {
	k := newKitchen(t, tracing)
	needs.Run(t, "go", "build", "-o", k.dir, "./testdata/myapp", "./testdata/srv")
	work := filepath.Join(k.dir, "script.py")
	if err := os.Rename(copied(t, "testdata/work.py", k.dir), work); err != nil {
		t.Fatal(err)
	}
	// The first Python in PATH may have no probes.
	if err := os.Symlink(findPython(t), filepath.Join(k.dir, "python3")); err != nil {
		t.Fatal(err)
	}
	find(t, "postgresql", "/usr/lib/postgresql/15/bin/postgres")

	p := start(t, filepath.Join(k.dir, "myapp"))
	requests := func() { p.Do("two requests") }
	k.cook("'myapp:*'", p.PID(), "", requests, `^[0-9:.]+ myapp/\d+ myapp:request_start id=\d+ path="/index.html"$`)
	k.cook("--json", 0, "", requests, `^\{"time":.*"provider":"myapp","name":"request_start","args":\{"id":\d+,"path":"/index.html"\}\}$`)
	k.cook("status >= 500", 0, "", requests, `^[0-9:.]+ myapp/\d+ myapp:request_done id=\d+ path="/api/order" status=503 `)
	k.cook("peer.port", 0, "", requests, `myapp:request_done id=\d+ path="/api/order" .* peer=\{host="::1" port=443\}$`)
	k.cook("took > 10ms", 0, "", requests, `myapp:dial_done took=15ms peer=10.0.0.1$`)
	k.cook("--fields", 0, "", requests, `^[0-9:.]+ \d+ path="/api/order" ms=[0-9.]+$`)
	k.cook("hist ms", 0, "", requests, `^ *\d+  "/api/order"$`, `^ +2 - 4 +\d+ \|#+$`)
	k.cook("p99.9", 0, "", requests, `^ *\d+( +\d[\d.]*){4}  "/api/order"$`)
	k.cook("status/100", 0, "", requests, `^ *\d+  5 +"/api/ord"$`)
	k.cook("latency myapp", 0, "", requests, `^ *\d+( +\d[\d.]*[nµm]?s){4}  "/api/order"$`)
	k.cook("--slower", 0, "", requests)
	k.cook("count --by stack,path", 0, "", requests, `^ *\d+  "/\S*"$`, `^\tmain.main \(/.*/testdata/myapp/main.go:\d+\)$`)
	k.cook("--stack", 0, "", requests, `^[0-9:.]+ myapp/\d+ myapp:request_done id=`, `^\tmain.main \(/.*/testdata/myapp/main.go:\d+\)$`)
	k.cook("latency.pb.gz", 0, "", requests)
	if out := needs.Run(t, "go", "tool", "pprof", "-top", filepath.Join(k.dir, "latency.pb.gz")); !regexp.MustCompile(`(?m)^Type: latency$`).MatchString(out) || !regexp.MustCompile(`(?m) main\.main$`).MatchString(out) {
		t.Errorf("pprof does not show who waited:\n%s", out)
	}
	k.cook("script.py", 0, "collect\n", nil, `python3?/\d+ python:gc__done collected=\d+$`)
	k.cook("libc.so.6:read", 0, "", func() { needs.Run(t, "head", "-c", "100", "/dev/zero") }, `^[0-9:.]+ +\d+$`)
	k.cook("latency uprobe:./srv", 0, "", func() { needs.Run(t, filepath.Join(k.dir, "srv")) }, `^[0-9:.]+ +8( +\d[\d.]*[nµm]?s){4}$`)
	k.cook("handler.go:40-60", 0, "", nil, `^ +8  "uprobe:srv:handler.go:42"$`)
	k.cook("req.path", 0, "", nil, `^[0-9:.]+ srv/\d+ uprobe:srv:handler.go:42 req.path="/item/4" n=4$`)

	for _, c := range []struct{ names, pattern string }{
		{"sdtdump /usr/lib/postgresql/", `^  postgresql:query__start  0x[0-9a-f]+ `},
		{"sdtdump -p 4711 ", `^  myapp:request_done  0x[0-9a-f]+  at 0x[0-9a-f]+ `},
		{"--format markdown", "^\\| `myapp:request_done` \\| `id uint64`, `path string`, `status int64`.* \\| yes \\|$"},
		{"sdtdump --check ", `^/usr/lib/.*/libstdc\+\+.so.6: .* accept every probe$`},
		{"sdttrace list 'uprobe:", `^0x[0-9a-f]+ +\d+ +uprobe:/usr/lib/.*/libssl.so[.\d]*:SSL_read +-$`},
		{"sdttrace list 'myapp:", `^\d+ +myapp +myapp:request_done +0 +clean +- +/memfd:`},
	} {
		cmd := k.choose(c.names, p.PID())
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", cmd.Args[2], err)
		}
		k.match(cmd.Args[2], string(out), "", c.pattern)
	}
	k.done()
}

// TestReadmePage runs the command of docs/tracing.md that writes a page, of the demo's web shop.
func TestReadmePage(t *testing.T) {
	k := newKitchen(t, tracing)
	command := regexp.MustCompile("`(sdttrace page [^`]+)`").FindStringSubmatch(document(t, tracing))
	if command == nil {
		t.Fatal("there is no command that writes a page")
	}
	k.all = command[1:]
	shop := exec.Command(filepath.Join(k.dir, "sdttrace"), "demo-service")
	in, err := shop.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shop.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	defer shop.Wait()
	defer in.Close()
	var hello struct{ URL string }
	if err := json.NewDecoder(out).Decode(&hello); err != nil {
		t.Fatal(err)
	}
	const requests = 20
	k.cook("page.html", 0, "", func() {
		for range requests {
			answer, err := http.Get(hello.URL + "/item/clock")
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
	})
	data := bytes.Join(pageData(t, filepath.Join(k.dir, "page.html")), nil)
	for _, want := range []string{"request_start", "cache_lookup", "/item/clock", "internal/demo."} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the page's %d bytes of data have no %s", len(data), want)
		}
	}
	k.done()
}
