package command

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/gate"
)

// module is the path of the module whose package provider declares probes.
const module = "github.com/go-usdt/usdt"

// Start starts a program and holds it, see [command.Begin]. Its output goes to stderr. Stopping
// it where its own code begins takes privileges. If these are missing, a program that can offer
// its probes is not stopped: its providers wait for this process when they have loaded probes.
func Start(args []string, how How, stderr io.Writer) (*Command, error) {
	if how.User {
		return startOffering(args, how.InBackground, stderr)
	}
	c, err := startTraced(args, how, stderr)
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) && declares(args[0]) {
		return startOffering(args, how.InBackground, stderr)
	}
	return c, err
}

// Offers reports whether the program offers its probes, and is not stopped.
func (c *Command) Offers() bool { return c.await != nil }

// declares reports whether a program is a Go program that has package provider.
func declares(name string) bool {
	path, err := exec.LookPath(name)
	if err != nil {
		return false
	}
	info, err := buildinfo.ReadFile(path)
	return err == nil && (info.Main.Path == module || slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module }))
}

// startOffering starts a program that offers its probes, as startTraced does.
func startOffering(args []string, inBackground bool, stderr io.Writer) (*Command, error) {
	c := &Command{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	c.useFiles(inBackground, stderr)
	c.hold = &hold{c: c}
	c.hold.providers, c.hold.missing = gate.Listen()
	c.cmd.Env = append(os.Environ(), "USDT_LOCAL=1")
	if c.hold.providers != nil {
		c.cmd.Env = append(c.cmd.Env, c.hold.providers.Environment())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := startUnblocked(c.cmd); err != nil {
		c.hold.close()
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	// Until then, nobody else gets its process id.
	c.await = sync.OnceFunc(func() {
		go func() {
			c.err = c.cmd.Wait()
			close(c.ended)
		}()
	})
	return c, nil
}
