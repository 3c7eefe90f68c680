package attach_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	roles["churning"] = func([]string) error {
		p := provider.New("churning", nil)
		provider.NewProbe0(p, "probe")
		fmt.Println("ready")
		for {
			if err := errors.Join(p.Load(), p.Close()); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			if err := p.Load(); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			p.Close()
		}
	}
}

// TestOpenChurning opens sessions in a process that closes and loads its probes all the time:
// that they are not loaded at the moment is no reason to say that no probe matches.
func TestOpenChurning(t *testing.T) {
	p := start(t, tracee.Self("churning")).Ready()
	for range 10 {
		s, err := attach.Open(t.Context(), []string{"churning:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaKernel}, Rescan: time.Second})
		if err == nil {
			s.Close()
			continue
		}
		needPrivileges(t, err)
		if errors.Is(err, attach.ErrNoMatch) {
			t.Fatal(err)
		}
	}
}
