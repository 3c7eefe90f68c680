//go:build !usdt_nolocal

package provider_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// numbers are the numbers of the system calls in the documents.
var numbers = map[string]uint32{
	"accept4": unix.SYS_ACCEPT4, "bind": unix.SYS_BIND, "clock_gettime": unix.SYS_CLOCK_GETTIME, "connect": unix.SYS_CONNECT, "fallocate": unix.SYS_FALLOCATE,
	"fchmod": unix.SYS_FCHMOD, "fcntl": unix.SYS_FCNTL, "flock": unix.SYS_FLOCK, "fstat": unix.SYS_FSTAT, "fstatfs": unix.SYS_FSTATFS,
	"fsync": unix.SYS_FSYNC, "ftruncate": unix.SYS_FTRUNCATE, "getdents64": unix.SYS_GETDENTS64, "geteuid": unix.SYS_GETEUID,
	"getrandom": unix.SYS_GETRANDOM, "prlimit64": unix.SYS_PRLIMIT64, "getsockopt": unix.SYS_GETSOCKOPT,
	"linkat": unix.SYS_LINKAT, "listen": unix.SYS_LISTEN, "memfd_create": unix.SYS_MEMFD_CREATE, "mkdirat": unix.SYS_MKDIRAT,
	"openat": unix.SYS_OPENAT, "ppoll": unix.SYS_PPOLL, "recvfrom": unix.SYS_RECVFROM,
	"renameat2": unix.SYS_RENAMEAT2, "sendmsg": unix.SYS_SENDMSG, "setsockopt": unix.SYS_SETSOCKOPT, "shutdown": unix.SYS_SHUTDOWN, "socket": unix.SYS_SOCKET,
	"uname": unix.SYS_UNAME, "unlinkat": unix.SYS_UNLINKAT,
}

// needed returns what docs/services.md says about a feature: which system calls it needs, and
// which may be refused.
func needed(t *testing.T, feature string) (must, may []string) {
	t.Helper()
	text, err := os.ReadFile(callsDocument)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| [^|]*`" + feature + "`[^|]* \\|([^|]*)\\|([^|]*)\\|$").FindStringSubmatch(string(text))
	if row == nil {
		t.Fatalf("%s says nothing about %s", callsDocument, feature)
	}
	list := func(cell string) (calls []string) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
			if numbers[m[1]] == 0 {
				t.Errorf("no system call %s", m[1])
			}
			calls = append(calls, m[1])
		}
		return calls
	}
	return list(row[1]), list(row[2])
}

// TestSystemCalls checks what the documents say about the system calls of each feature. It
// works where no others are allowed, and where one of those is refused, Load says so: none
// is missed only later, when nobody is told any more.
func TestSystemCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs each feature with each of its system calls refused")
	}
	if *update {
		writeSystemCalls(t)
	}
	for feature := range features {
		t.Run(feature, func(t *testing.T) {
			t.Parallel()
			probesMust, probesMay := needed(t, "probes")
			must, may := needed(t, feature)
			c := &confinement{feature: feature}
			for _, call := range slices.Concat(probesMust, probesMay, must, may) {
				c.calls = append(c.calls, numbers[call])
			}
			for _, number := range runtimeCalls {
				if listed := slices.Contains(slices.Collect(maps.Values(numbers)), number); !listed {
					c.calls = append(c.calls, number)
				}
			}
			if o := c.run(t); o.loaded+o.closed+o.died != "" || o.events != c.events() {
				t.Errorf("where no other system call is allowed: %+v", o)
			}
			for _, call := range slices.Concat(must, may) {
				for _, errno := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
					c := &confinement{feature: feature, calls: []uint32{numbers[call]}, refused: errno}
					c.check(t, call, slices.Contains(must, call))
				}
			}
			for call, number := range runtimesToo {
				c := &confinement{feature: feature, calls: []uint32{number}, refused: unix.EPERM}
				if o := c.run(t); strings.Contains(o.died, hangs) || o.busy {
					t.Errorf("without %s: %+v", call, o)
				}
			}
		})
	}
}

// runtimesToo are system calls that Go's runtime also makes, and may end the program without.
var runtimesToo = map[string]uint32{"mmap": unix.SYS_MMAP, "munmap": unix.SYS_MUNMAP, "write": unix.SYS_WRITE, "read": unix.SYS_READ, "close": unix.SYS_CLOSE}

// check checks what becomes of a service to which a call is refused: before Load, and after.
func (c *confinement) check(t *testing.T, call string, needed bool) {
	t.Helper()
	o := c.run(t)
	says := c.refused.Error()
	switch {
	case o.died != "" || o.busy:
		t.Errorf("without %s (%v): %+v", call, c.refused, o)
	case needed && !strings.Contains(o.loaded, says):
		t.Errorf("without %s (%v) Load does not say so: %+v", call, c.refused, o)
	case !needed && (o.loaded != "" || o.events != c.events()):
		t.Errorf("without %s (%v), which may be refused: %+v", call, c.refused, o)
	case o.closed != "" && !strings.Contains(o.closed, says):
		t.Errorf("without %s (%v) Close returns %q", call, c.refused, o.closed)
	}
	c.late = true
	o = c.run(t)
	if o.died != "" || o.busy || o.closed != "" && !strings.Contains(o.closed, says) {
		t.Errorf("without %s (%v) after Load: %+v", call, c.refused, o)
	}
}

// events is the number of events that come out of a service in which all works.
func (c *confinement) events() int {
	if c.feature == "Local" || c.feature == "FlightRecorder" {
		return 1
	}
	return 0
}
