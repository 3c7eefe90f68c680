package attach_test

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["pairing"] = tracee.Obey(pairingChild()) }

// pairing has the probes of the child "pairing".
type pairing struct {
	start *provider.Probe2[int, string]
	end   *provider.Probe2[int, int]
}

// pairingChild fires pairing:start and pairing:end as its commands say:
//
//	serve CONNECTIONS REQUESTS FILE    nest DEPTH CODE    skip LEVELS    start ID    end ID
func pairingChild() func(string) error {
	p := provider.New("pairing", nil)
	probes := pairing{
		provider.NewProbe2[int, string](p, "start", "id", "path"),
		provider.NewProbe2[int, int](p, "end", "id", "code"),
	}
	return func(command string) error {
		var what, file string
		var n, m int
		fmt.Sscan(command, &what, &n, &m, &file)
		switch what {
		case "load":
			return p.Load()
		case "serve":
			return probes.serve(n, m, file)
		case "nest":
			probes.nest(n, m)
		case "skip":
			probes.skip(n)
		case "start":
			probes.start.Fire(n, "/")
		case "end":
			probes.end.Fire(n, 0)
		case "call":
			pairBegin(n)
			pairFinish(n)
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

//go:noinline
func pairBegin(n int) { pairCalls.Add(int64(n)) }

//go:noinline
func pairFinish(n int) { pairCalls.Add(int64(-n)) }

var pairCalls atomic.Int64

// serve answers requests over connections, each in a goroutine, and writes to
// file how many there were and how many nanoseconds they took from one Fire to
// the other, without and with the two calls.
func (p *pairing) serve(connections, requests int, file string) error {
	listener, err := net.Listen("unix", file+".socket")
	if err != nil {
		return err
	}
	defer listener.Close()
	var served, inner, outer atomic.Int64
	var clients, handlers sync.WaitGroup
	failed := make(chan error, connections)
	for range connections {
		clients.Go(func() {
			conn, err := net.Dial("unix", file+".socket")
			if err != nil {
				failed <- err
				return
			}
			defer conn.Close()
			for i := range requests {
				_, err := conn.Write([]byte{byte(i)})
				if err == nil {
					_, err = conn.Read(make([]byte, 1))
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		handlers.Go(func() {
			defer conn.Close()
			var b [1]byte
			for {
				if _, err := conn.Read(b[:]); err != nil {
					return
				}
				before := time.Now()
				p.start.Fire(int(b[0]), "/served")
				began := time.Now()
				time.Sleep(time.Duration(1+b[0]%4) * time.Millisecond)
				inner.Add(int64(time.Since(began)))
				p.end.Fire(int(b[0]), int(b[0])%2)
				outer.Add(int64(time.Since(before)))
				served.Add(1)
				conn.Write(b[:])
			}
		})
	}
	clients.Wait()
	handlers.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	return os.WriteFile(file, fmt.Appendln(nil, served.Load(), inner.Load(), outer.Load()), 0o600)
}

// nest fires pairs within pairs. The outermost pair has the code, the others 200.
func (p *pairing) nest(depth, code int) {
	p.start.Fire(depth, fmt.Sprint("/", depth))
	if depth > 1 {
		p.nest(depth-1, 200)
	}
	p.end.Fire(depth, code)
}

// skip nests calls in a goroutine until a panic ends them: only the outermost
// call fires an end.
func (p *pairing) skip(levels int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recover() }()
		for i := range levels {
			p.start.Fire(i, "/skipped")
		}
		panic("skips the ends")
	}()
	<-done
}
