package nested

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLog reads records as they come, until the log is closed.
func TestLog(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_DIRECT|unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil { // of packets
		t.Fatal(err)
	}
	defer unix.Close(pipe[1])
	l := newLog(pipe[0])
	say := func(records ...string) {
		for _, r := range records {
			if _, err := unix.Write(pipe[1], []byte(r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(want ...int) {
		t.Helper()
		if got := l.Processes(); !slices.Equal(got, want) {
			t.Errorf("processes %d, want %d", got, want)
		}
	}
	const left = "6,1,2,-;uprobe: omit uretprobe due to nestedness limit pid/tgid="
	check()
	say("6,1,2,-;eth0: up\n", left+"12/10\n", left+"7/7\n")
	check(7, 10)
	say(left+"13/10\n", left+"8/8\n")
	l.Close()
	l.Close()
	check(7, 8, 10)
	l = nil
	l.Close()
	check()
}

func TestParse(t *testing.T) {
	for record, want := range map[string]int{
		"6,1234,66858056605,-;uprobe: omit uretprobe due to nestedness limit pid/tgid=1163/1162\n":         1162,
		"6,1234,66858056605,-;uprobe: omit uretprobe due to nestedness limit pid/tgid=7/7\n SUBSYSTEM=x\n": 7,
		"14,1234,66858056605,-;uprobe: omit uretprobe due to nestedness limit pid/tgid=1163/1162\n":        0, // a process wrote it
		"6,1234,66858056605,-;usb: omit uretprobe due to nestedness limit pid/tgid=1163/1162\n":            0,
		"6,1234,66858056605,-;uprobe: omit uretprobe due to nestedness limit pid/tgid=1163\n":              0,
		"6,1234,66858056605,-;uprobe: omit uretprobe due to nestedness limit pid/tgid=/x\n":                0,
		"6,1234,66858056605,-;uprobe: failed to unregister, leaking uprobe\n":                              0,
		"": 0,
	} {
		if got, ok := parse([]byte(record)); got != want || ok != (want != 0) {
			t.Errorf("%q: process %d, %v, want %d", record, got, ok, want)
		}
	}
}
