package targets_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// pageData returns what a page holds: its contents, and then blocks of events.
func pageData(t *testing.T, file string) (all [][]byte) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, packed := range regexp.MustCompile(`<script type="application/gzip;base64" class="\w+">([^<]*)</script>`).FindAllSubmatch(page, -1) {
		text, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed[1])))
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part)
	}
	return all
}

// testFirstLook names nothing but PostgreSQL, and compares the page with what was done.
func testFirstLook(t *testing.T, p *postgres) {
	dir := t.TempDir()
	cmd := exec.Command(needs.Build(t, "cmd/sdttrace"), "page", "postgresql", "--exe", p.server)
	cmd.Dir = dir
	var said tracee.Output
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.Await(t, "Ctrl-C ends")
	for i := range 7 {
		p.client("psql", "-qAtX", "-c", fmt.Sprintf("select %d as seventh", i))
	}
	script := filepath.Join(p.dir, "first.sql")
	if err := os.WriteFile(script, []byte("begin;\nselect 8 as eighth;\ncommit;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.client("pgbench", "-n", "-M", "prepared", "-f", script, "-t", "8") // as drivers do
	relation := strings.TrimSpace(p.client("psql", "-qAtX", "-c", "select 'pgbench_history'::regclass::oid"))
	p.waitForLock()
	p.settled()
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	files, err := filepath.Glob(filepath.Join(dir, "postgresql-*.html"))
	if err != nil || len(files) != 1 || !strings.Contains(said.String(), "the page is in "+filepath.Base(files[0])) {
		t.Fatalf("files %q, %v\n%s", files, err, &said)
	}
	var contents struct {
		Spans []struct {
			Name   string
			Groups []struct {
				Text string
				Took struct{ Count int }
			}
			Slowest []struct{ Start string }
		}
		Probes []struct {
			Name   string
			Stacks [][2]int
			Args   []struct {
				Name   string
				Values *struct{}
			}
		}
	}
	if err := json.Unmarshal(pageData(t, files[0])[0], &contents); err != nil {
		t.Fatal(err)
	}
	shapes, waits := map[string]int{}, ""
	for _, s := range contents.Spans {
		switch {
		case strings.Contains(s.Name, "pgstat_report_activity"):
			for _, g := range s.Groups {
				shapes[g.Text] = g.Took.Count
			}
		case strings.HasPrefix(s.Name, "postgresql:lock__wait") && len(s.Slowest) == 1:
			waits = s.Slowest[0].Start
		}
	}
	if shapes["select ? as seventh"] != 7 || shapes["select ? as eighth"] != 8+1 || shapes["commit"] != 8+1+1 {
		t.Errorf("shapes of statements are %v, want 7 times select ? as seventh, 8 times eighth and commit, the preparation of each, and the commit behind the lock", shapes)
	}
	if want := `^waits_for="relation ` + relation + ` of database \d+" mode=AccessShareLock statement="(?i:[^"]*pgbench_history[^"]*)"$`; !regexp.MustCompile(want).MatchString(waits) {
		t.Errorf("the wait for a lock is %q, want %s", waits, want)
	}
	for _, probe := range contents.Probes {
		if has := len(probe.Stacks) > 0; has != (probe.Name == "postgresql:lock__wait__start") {
			t.Errorf("%s has stacks: %t", probe.Name, has)
		}
		for _, a := range probe.Args {
			if a.Values != nil {
				t.Errorf("%s has a histogram of %s", probe.Name, a.Name)
			}
		}
	}
}

// testWaiter reads in JSON what a connection waits for, and in which statement, in each protocol.
func testWaiter(t *testing.T, p *postgres) {
	var out, said tracee.Output
	cmd := exec.Command(needs.Build(t, "cmd/sdttrace"), "--json", "--exe", p.server, "postgresql:lock__wait__start")
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	said.Await(t, "Ctrl-C ends")
	modes := []string{"simple", "extended", "prepared"}
	for _, mode := range modes {
		script := filepath.Join(p.dir, mode+".sql")
		if err := os.WriteFile(script, []byte("select '"+mode+"' from pgbench_history limit 1;\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p.waitForLockBy(p.clientCommand("pgbench", "-n", "-M", mode, "-f", script, "-t", "1"))
	}
	p.settled()
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	for _, mode := range modes {
		if want := `"type":0,"mode":1,"statement":"select '` + mode + `' from pgbench_history limit 1;","waits_for":"relation \d+ of database \d+"}}\n`; !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("got %s, want %s", &out, want)
		}
	}
}
