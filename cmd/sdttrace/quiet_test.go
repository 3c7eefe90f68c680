package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestNoEvents has each verb see no event, for several reasons. Each says why, and ends well.
func TestNoEvents(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "quiet.c")
	if err := os.WriteFile(source, []byte(`#include <sys/sdt.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 20; i++) {
		DTRACE_PROBE1(quiet, start, i);
		DTRACE_PROBE1(quiet, end, i + 1000);
	}
	if (argc > 5)
		DTRACE_PROBE1(quiet, never, 0);
	return 0;
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	program := needs.Compile(t, source, "gcc", "-O1")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	const unfired, untrue = "the command fired none of them", "arg0 > 5000 held for none of 40 events"
	where := []string{"--where", "arg0 > 5000", "quiet:*"}
	check := func(why string, args ...string) {
		t.Helper()
		var said bytes.Buffer
		cmd := exec.Command(sdttrace, append(args, "--", program)...)
		cmd.Stderr = &said
		err := cmd.Run()
		skipRefused(t, &said)
		if err != nil || !strings.Contains(said.String(), "sdttrace: "+why) {
			t.Errorf("%q ends with %v, and says %s; want %q", args, err, &said, why)
		}
	}
	for _, verb := range []string{"print", "count", "stats arg0", "hist arg0", "profile -o OUT", "timeline -o OUT", "page -o OUT", "record -o OUT"} {
		words := strings.Fields(strings.ReplaceAll(verb, "OUT", filepath.Join(dir, "out")))
		check(unfired, append(words, "quiet:never")...)
		check(untrue, append(words, where...)...)
	}
	check("no snapshot: arg0 > 5000 held for none of 40 events", "snapshot", "arg0 > 5000", "quiet:*")
	check("39 other events fulfilled arg0 >= 0, in a snapshot or within --every 1h0m0s of one", "snapshot", "arg0 >= 0", "--every", "1h", "quiet:*")
	check(unfired, "snapshot", "arg0 > 5000", "quiet:never")
	check(unfired, "top", "quiet:never")
	check("no end has fired", "latency", "quiet:start", "quiet:never")
	check("no start has fired", "latency", "quiet:never", "quiet:end")
	check("no start has found its end", "latency", "--key", "arg0", "quiet:start", "quiet:end")
	check("0 slow ones of 20 pairs", "latency", "--slower", "1h", "quiet:start", "quiet:end")
	check("arg0 > 5000 held for none of 20 pairs", "latency", "--where", "arg0 > 5000", "quiet:start", "quiet:end")
	check("--sample 1000000 left out all of 40 events", "--sample", "1000000", "quiet:*")
	check("no probe matches quiet:edn in process ", "latency", "quiet:start", "quiet:edn")
	check("quiet:start,quiet:never: no end has fired", "page", "-o", filepath.Join(dir, "out"), "--span", "quiet:start,quiet:never", "--span", "quiet:start,quiet:end:arg0")

	// Recordings lack probes and events.
	recording := filepath.Join(dir, "quiet.usdt")
	check("wrote ", "record", "-o", recording, "quiet:*")
	const others = "no probe matches other:* in the recordings, which have quiet:end, quiet:never, quiet:start"
	for _, verb := range []string{"print", "count", "stats arg0", "hist arg0", "timeline -o OUT", "page -o OUT"} {
		words := strings.Fields(strings.ReplaceAll(verb, "OUT", filepath.Join(dir, "out")))
		for probe, why := range map[string]string{
			"quiet:never": "the recordings have no event of these probes",
			"quiet:strat": "no probe matches quiet:strat in the recordings, but quiet:start would",
			"other:*":     others,
		} {
			says(t, why, append(words, "--from", recording, probe)...)
		}
		says(t, untrue, append(words, "--from", recording, "--where", "arg0 > 5000")...)
	}
	says(t, others, "latency", "other:*", "other:end", "--from", recording)
	says(t, "no end has fired: name another end", "latency", "quiet:start", "quiet:never", "--from", recording)
	says(t, "no snapshot: arg0 == 77 held for none of 40 events", "snapshot", "arg0 == 77", "--from", recording)
	says(t, recording+" has no stacks: record it with --stack", "profile", "-o", filepath.Join(dir, "out"), "--from", recording)
	says(t, "the recordings have no probes of a provider quieet, but of quiet; the nearest is quiet", "page", "quieet", "--from", recording)
	says(t, recording+" is a recording: sdttrace count --by probe --from "+recording+" lists its probes", "list", recording)
	stacks := filepath.Join(dir, "stacks.usdt")
	check("wrote ", "record", "--stack", "-o", stacks, "quiet:*")
	says(t, "no event fired from 1h0m0s to 2h0m0s of a recording: its last one fired ", "profile", "--diff", stacks+"@1h,2h", stacks)
	says(t, "there is no recording in ", "--from", t.TempDir())
}

// says checks what sdttrace says when it shows nothing.
func says(t *testing.T, why string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	run(t.Context(), args, &stdout, &stderr)
	if !strings.Contains(stderr.String(), why) {
		t.Errorf("%q says %s; want %q", args, &stderr, why)
	}
}
