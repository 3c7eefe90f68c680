package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestDownloads asks a page's server for each file of the events that it shows, when no others come.
func TestDownloads(t *testing.T) {
	dir := commands(t, "sdttrace", "traced")
	p := startTraced(t, dir, "downloaded")
	cmd := exec.Command(filepath.Join(dir, "sdttrace"), "serve", "-q", "-p", fmt.Sprint(p.PID()), "--stack", "--span", "downloaded_pair:begin,downloaded_pair:end", "downloaded:tick")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, token, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "sdttrace: "), "?token=")
	if err != nil || !ok {
		t.Fatalf("%q, %v: want an address with a token", line, err)
	}
	get := func(query, token string) (int, []byte) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", address+"download?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sdttrace-Token", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		return answer.StatusCode, body
	}
	for { // until there are events of both probes
		if status, body := get("as=pftrace", token); status != http.StatusOK {
			t.Fatalf("%d, %.200q", status, body)
		} else if bytes.Contains(body, []byte("downloaded_pair:begin")) && bytes.Contains(body, []byte("downloaded:tick")) {
			break
		}
	}
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for { // until what had fired is there
		_, before := get("as=folded", token)
		_, body := get("as=usdt", token)
		if _, after := get("as=folded", token); !bytes.Equal(before, after) {
			continue
		}
		file := filepath.Join(dir, "shown.usdt")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join(dir, "sdttrace"), "profile", "-q", "--format", "folded", "--from", file, "downloaded*:*").Output()
		if err != nil || !bytes.Equal(out, before) {
			t.Errorf("the recording has the stacks %s, %v, want %s", out, err, before)
		}
		break
	}
	for query, want := range map[string]string{
		"as=usdt":    "downloaded_pair",
		"as=pftrace": "downloaded_pair:begin",
		"as=pb.gz":   `^\x1f`,
		"as=folded":  `(?m)^traced;.*;runtime\.main;.*traced \d+$`,
	} {
		status, body := get(query, token)
		if status != http.StatusOK || !regexp.MustCompile(want).Match(body) {
			t.Errorf("%s: %d, %.200q, want %s", query, status, body, want)
		}
	}
	for query, want := range map[string]int{"as=exe": 400, "": 400} {
		if status, body := get(query, token); status != want {
			t.Errorf("%s: %d, %s, want %d", query, status, body, want)
		}
	}
	if status, body := get("as=usdt", strings.Repeat("0", len(token))); status != http.StatusForbidden || bytes.Contains(body, []byte("downloaded")) {
		t.Errorf("with another token: %d, %.100q", status, body)
	}
}
