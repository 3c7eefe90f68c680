package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFullDisk has each verb write to a file system without room. It says so once, fails, and a
// recording has the events that were promised.
func TestFullDisk(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "full.c")
	if err := os.WriteFile(source, []byte("#include <sys/sdt.h>\nint main(void)\n{\n\tfor (int i = 0; i < 3000; i++) {\n\t\tDTRACE_PROBE1(full, start, i);\n\t\tDTRACE_PROBE1(full, end, i);\n\t}\n\treturn 0;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := needs.Compile(t, source, "gcc", "-O1")
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=32k"); err != nil {
		needs.Skip(t, "mount: %v", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH)
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	out := filepath.Join(disk, "out")
	promised := regexp.MustCompile(`; sdttrace --from reads what was recorded before, (\d+) events\n`)
	for _, words := range []string{
		"record full:*", "record --stack full:*", "print full:*", "print --json full:*", "snapshot arg0>100 full:*", "count --by arg0 full:*", "hist arg0 full:*",
		"latency full:start full:end --slower 1ns", "profile full:*", "profile --format folded --by arg0 full:*", "timeline full:*", "page full:*",
	} {
		for _, full := range []bool{false, true} {
			fill := filepath.Join(disk, "fill")
			if full {
				if err := os.WriteFile(fill, make([]byte, 64<<10), 0o600); err == nil {
					t.Fatal("the disk has room")
				}
			}
			args := append(strings.Fields(words), "-o", out, "--", program)
			cmd := exec.Command(sdttrace, args...)
			said, err := cmd.CombinedOutput()
			skipRefused(t, bytes.NewBuffer(said))
			kept, _ := os.Stat(out)
			fits := !full && err == nil // a histogram, for one
			if n := strings.Count(string(said), "no space left on device"); !fits && (n != 1 || cmd.ProcessState.ExitCode() != exitFailed) {
				t.Errorf("%s, full %t: it ends with %v, and says %d times that there is no room:\n%s", words, full, err, n, said)
			}
			if m := promised.FindSubmatch(said); m != nil {
				read, err := exec.Command(sdttrace, "--from", out).CombinedOutput()
				if want := fmt.Sprintf("\nsdttrace: %s events, 0 lost, 0 filtered; of 2 probes\n", m[1]); err != nil || !strings.Contains(string(read), want) || strings.Contains(string(read), "torn") || kept.Size() < 20<<10 {
					t.Errorf("%s: %d bytes, want %q, got %v, %.300s", words, kept.Size(), want, err, read[max(0, len(read)-300):])
				}
			} else if strings.HasPrefix(words, "record") && (!full || kept != nil) {
				t.Errorf("%s, full %t: it left %v and says\n%s", words, full, kept, said)
			}
			whole := strings.HasPrefix(words, "page") || strings.HasPrefix(words, "profile")
			if half := kept != nil && err != nil; whole && half {
				t.Errorf("%s, full %t: it left half a file of %d bytes", words, full, kept.Size())
			}
			os.Remove(out)
			os.Remove(fill)
		}
	}
}
