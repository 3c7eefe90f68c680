//go:build !usdt_nolocal

package provider_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// TestLocalReadOnly checks that a process offers its probes where no file can be made,
// as in a container with a root that is read-only.
func TestLocalReadOnly(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		needs.Root(t) // to mount
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR=", "TMPDIR=/tmp")
		tracee.Pass(t, cmd)
		return
	}
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("empty", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	p := offered(t)
	one := provider.NewProbe1[int](p, "one", "n")
	load(t, p)
	tr := attachTo(t, os.Getpid(), p.Name(), watching{})
	one.Fire(1)
	if got := tr.all(t); len(got) != 1 {
		t.Errorf("events %v, want one", got)
	}
	tr.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// refuse makes the kernel refuse a system call from now on.
func refuse(t *testing.T, call uint32) {
	t.Helper()
	if err := confine([]uint32{call}, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), unix.SECCOMP_RET_ALLOW); err != nil {
		t.Fatal(err)
	}
}

// TestLocalRefused checks what a service is told to which the kernel refuses what it
// needs to offer its probes. It goes on.
func TestLocalRefused(t *testing.T) {
	const variable = "PROVIDER_TEST_REFUSED"
	calls := []struct {
		name   string
		number uint32
		offers bool // the provider loads, but is not offered
		want   string
	}{
		{"memfd_create", unix.SYS_MEMFD_CREATE, false, "memfd_create: operation not permitted"},
		{"socket", unix.SYS_SOCKET, true, "offer probes to local tracers: socket: operation not permitted"},
		{"bind", unix.SYS_BIND, true, "offer probes to local tracers: bind: operation not permitted"},
		{"listen", unix.SYS_LISTEN, true, "offer probes to local tracers: listen: operation not permitted"},
	}
	if cmd := tracee.Again(t); cmd != nil {
		for i := range calls {
			cmd := tracee.Again(t)
			cmd.Env = append(cmd.Env, variable+"="+strconv.Itoa(i))
			tracee.Pass(t, cmd)
		}
		return
	}
	i, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		t.Fatal(err)
	}
	call := calls[i]
	refuse(t, call.number)
	p := offered(t)
	one := provider.NewProbe1[int](p, "one", "n")
	before := descriptors(t)
	err = p.Load()
	if err == nil || !strings.Contains(err.Error(), call.want) || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("without %s: %v, want %q", call.name, err, call.want)
	}
	t.Log(err)
	one.Fire(1)
	provider.Watch(p, 1)
	if one.Enabled() != call.offers {
		t.Errorf("without %s: the probe is loaded: %v, want %v", call.name, one.Enabled(), call.offers)
	}
	if _, err := rendezvous.Offered(os.Getpid()); err != nil && !errors.Is(err, rendezvous.ErrNotOffered) {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if after := descriptors(t); len(after) != len(before) {
		t.Errorf("descriptors %q, and before %q", after, before)
	}
}
