package link

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/heldup"
)

// holding stands in the place of a kernel that holds calls up.
type holding struct {
	refusing
	release chan struct{}
	opened  int
}

func (k *holding) LinkMulti(*Group, []int) (int, error) {
	<-k.release
	fd, err := k.descriptor()
	k.opened = fd
	return fd, err
}

func (k *holding) OpenUprobe(g *Group, _ *Site) (int, error) { return k.LinkMulti(g, nil) }

// TestHeldUp checks that attaching which the kernel holds up is reported after two seconds, ends
// soon after its context, and that a link which is made later is closed.
func TestHeldUp(t *testing.T) {
	for _, kind := range []Kind{Multi, Perf} {
		synctest.Test(t, func(t *testing.T) {
			k := &holding{release: make(chan struct{})}
			g := groupOf(&k.refusing, 1)
			g.Calls = k
			var said []string
			begun, at := time.Now(), time.Duration(0)
			ctx := heldup.With(t.Context(), func(what string) { said, at = append(said, what), time.Since(begun) })
			interrupted := errors.New("interrupted")
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(10*time.Second, func() { cancel(interrupted) })
			links, _, err := g.Attach(ctx, kind)
			synctest.Wait()
			if took := time.Since(begun); !errors.Is(err, interrupted) || !strings.Contains(err.Error(), "the kernel holds up attaching to /lib/x.so") || len(links) > 0 || took > 12*time.Second {
				t.Errorf("%v: %d links, %v after %v", kind, len(links), err, took)
			}
			if len(said) != 1 || said[0] != "attaching to /lib/x.so" || at != 2*time.Second {
				t.Errorf("%v: it said %q after %v", kind, said, at)
			}
			close(k.release)
			synctest.Wait()
			if _, err := unix.FcntlInt(uintptr(k.opened), unix.F_GETFD, 0); k.opened == 0 || err == nil {
				t.Errorf("%v: descriptor %d is open", kind, k.opened)
			}
		})
	}
}
