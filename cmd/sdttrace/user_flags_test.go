package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestUserFlags checks that every flag either works with --user or is refused in one
// sentence, before anything is traced. %PID% is the process of a service, %TIME% a time in
// which it fires: more and more where others have the CPU.
func TestUserFlags(t *testing.T) {
	links := commands(t, "traced")
	service := exec.Command(filepath.Join(links, "traced"), "-")
	service.Env = append(os.Environ(), "USDT_LOCAL=1", "PROVIDER=flagged")
	pid := fmt.Sprint(tracee.StartVictim(t, service).Ready().PID())
	const (
		tick = "--limit 1 flagged:tick"
		sum  = "--duration %TIME% flagged:tick"
	)
	tests := map[string]struct {
		args   string
		prints string // on stdout; empty if the flag is refused
		says   string // on stderr
	}{
		"pid":        {args: "-p %PID% " + tick, prints: "flagged:tick seq="},
		"children":   {args: "-p %PID% --children " + tick, says: "--children is for what the kernel traces"},
		"comm":       {args: "--comm traced " + tick, prints: "flagged:tick seq="},
		"exe":        {args: "--exe " + links + "/traced " + tick, prints: "flagged:tick seq="},
		"user":       {args: tick, prints: "flagged:tick seq="},
		"where":      {args: "--where load<1 " + tick, prints: "load=0.5"},
		"show":       {args: "stats load --show sum,rate " + sum, prints: "  sum  "},
		"hist":       {args: "stats load --hist " + sum, prints: "0.5 - 1"},
		"steps":      {args: "hist load --steps 0,1,0.25 " + sum, prints: "0.5 - 0.75"},
		"key":        {args: "latency --duration %TIME% flagged_pair:begin flagged_pair:end --key seq", prints: " avg "},
		"slower":     {args: "latency --limit 1 flagged_pair:begin flagged_pair:end --slower 0s", prints: " -> flagged_pair:end n="},
		"by":         {args: "count --by msg " + sum, prints: `  "tick \"tock\""`},
		"interval":   {args: "count --interval 50ms " + sum, prints: "  count\n"},
		"quantiles":  {args: "stats load --quantiles 50 " + sum, prints: "  p50\n"},
		"sort":       {args: "stats load --show sum --by msg --sort sum " + sum, prints: "  sum  "},
		"top":        {args: "count --by seq --top 1 " + sum, prints: " more group"},
		"max-groups": {args: "count --by seq --max-groups 1 " + sum, prints: "  (other)\n"},
		"before":     {args: "snapshot load<1 --before 0 " + tick, prints: "snapshot 1: 0 events before"},
		"after":      {args: "snapshot load<1 --after 1 " + tick, prints: ", 1 after"},
		"every":      {args: "snapshot load<1 --every 1ms " + tick, prints: "snapshot 1: "},
		"format":     {args: "--format json " + tick, prints: `"name":"tick"`},
		"json":       {args: "--json " + tick, prints: `"tid":null`},
		"limit":      {args: tick, prints: "flagged:tick seq="},
		"last":       {args: "--last 1 --duration %TIME% flagged:tick", prints: "flagged:tick seq="},
		"sample":     {args: "--sample 3 " + tick, prints: "flagged:tick seq="},
		"stack":      {args: "--stack=dwarf " + tick, prints: "\tgithub.com/go-usdt/usdt/cmd/sdttrace.traced ("}, // by frame pointers, as ever
		"fields":     {args: "--fields comm,load " + tick, prints: "traced load=0.5\n"},
		"weigh":      {args: "profile --format folded --weigh seq " + tick, prints: ".traced 115"},
		"output":     {args: "record -o " + t.TempDir() + "/events " + tick, prints: ""},
		"diff":       {args: "profile --diff a.usdt " + tick, says: "--user is for live processes"},
		"size":       {args: "record -o " + t.TempDir() + "/events --size 2K flagged:tick", prints: ""},
		"span":       {args: "timeline --span flagged_pair:begin,flagged_pair:end --limit 1", prints: "flagged_pair:begin to end"},
		"flow":       {args: "timeline --flow seq " + tick, prints: "flagged:tick"},
		"counter":    {args: "timeline --counter load " + tick, prints: "flagged:tick load"},
		"duration":   {args: sum, prints: "flagged:tick seq="},
		"verbose":    {args: "-v " + tick, prints: "flagged:tick seq="},
		"quiet":      {args: "-q " + tick, prints: "flagged:tick seq="},
		"wait":       {args: "--wait " + tick, prints: "flagged:tick seq="},
		"rescan":     {args: "--rescan 10ms " + tick, prints: "flagged:tick seq="},
		"follow":     {args: "--follow msg " + tick, says: "--follow: no probe has a pointer"},
		"max-string": {args: "--max-string 4 " + tick, prints: `msg="tick"...`},
		"buffer":     {args: "--buffer 1M " + tick, prints: "flagged:tick seq="},
		"str":        {args: "--str arg0 " + tick, says: "--str is for probes without types"},
		"args":       {args: "--args arg0 " + tick, says: "--args is for functions"},
		"providers":  {args: "--providers none " + tick, prints: "flagged:tick seq="},
		"stop":       {args: "--stop -p %PID% flagged:tick", says: "--stop and --signal are done by the kernel"},
		"signal":     {args: "--signal USR1 -p %PID% flagged:tick", says: "--stop and --signal are done by the kernel"},
		"force":      {args: "--force " + tick, says: "--force is for sites that the kernel attaches to"},
		"link":       {args: "--link multi " + tick, says: "--link is how the kernel attaches"},
		"from":       {args: "--from . " + tick, says: "--user is for live processes"},

		// Verbs without flags of their own.
		"count":    {args: "count " + sum, prints: "  count\n"},
		"stats":    {args: "stats load " + sum, prints: "  0.5  0.5  0.5  0.5  0.5\n"},
		"latency":  {args: "latency --duration %TIME% flagged_pair:begin flagged_pair:end", prints: " avg "},
		"snapshot": {args: "snapshot load<1 " + tick, prints: "snapshot 1: "},
		"profile":  {args: "profile " + tick, prints: "\x1f\x8b"},
		"page":     {args: "page " + tick, prints: "<!DOCTYPE html>"},
	}
	elsewhere := []string{"cgroup", "container", "pod", "listen", "allow-attach"} // tests of top and serve have them
	for name := range word.All {
		if _, ok := tests[name]; !ok && !slices.Contains(elsewhere, name) {
			t.Errorf("nothing says what --%s does with --user", name)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			var code int
			for _, lasting := range []string{"100ms", "1s", "10s"} {
				stdout.Reset()
				stderr.Reset()
				args := strings.NewReplacer("%PID%", pid, "%TIME%", lasting).Replace(test.args)
				code = run(t.Context(), append([]string{"--user"}, strings.Fields(args)...), &stdout, &stderr)
				if code != exitDone || strings.Contains(stdout.String(), test.prints) {
					break
				}
			}
			switch refused := test.says != ""; {
			case refused && (code != exitUsage || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 2 || !strings.Contains(stderr.String(), test.says)):
				t.Errorf("exit code %d, want %d and one sentence with %q: %s%s", code, exitUsage, test.says, &stdout, &stderr)
			case !refused && (code != exitDone || !strings.Contains(stdout.String(), test.prints)):
				t.Errorf("exit code %d, want %d and %q on stdout: %s%s", code, exitDone, test.prints, &stdout, &stderr)
			}
		})
	}
}
