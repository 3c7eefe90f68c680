package rendezvous_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// dialed returns a connection to this process's socket.
func dialed(t testing.TB, name string) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// TestSilent connects as often as a process admits, and says nothing: new tracers are told,
// tracers that are there go on, and the silent ones have to go after a while.
func TestSilent(t *testing.T) {
	s := own(t)
	name, before := address(t), leftover.Descriptors(t)
	first, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var silent []int
	for range 70 {
		silent = append(silent, dialed(t, name))
	}
	if refused, err := first.Watch([]rendezvous.Site{{Location: 0x1000, Number: 1, Layout: &record.Layout{Block: 24}}}); err != nil || refused[0] != nil {
		t.Errorf("the tracer that is there: %v, %v", refused, err)
	}
	refused := (*rendezvous.RefusedError)(nil)
	if c, err := rendezvous.Connect(t.Context(), os.Getpid(), nil); err == nil {
		c.Close()
		t.Error("another tracer is admitted")
	} else if !errors.As(err, &refused) {
		t.Errorf("another tracer: %v", err)
	}
	until(t, "the silent ones go", func() bool {
		// On a busy machine this process is also taken for a silent one.
		c, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
		return err == nil && c.Close() == nil
	})
	<-s.ended
	for _, fd := range silent {
		unix.Close(fd)
	}
	first.Close()
	<-s.ended
	leftover.Back(t, before)
}

// TestDeaf asks again and again, and does not read the answers: the process ends that
// session, and others do not wait for it.
func TestDeaf(t *testing.T) {
	s := own(t)
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var offer []byte
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.HasPrefix(to, "/memfd:usdt-local") {
			if offer, err = os.ReadFile(link); err != nil {
				t.Fatal(err)
			}
		}
	}
	fd := dialed(t, address(t))
	defer unix.Close(fd)
	hello := append([]byte("\x01\x00\x00\x00usdtring\x01\x00\x00\x00"), offer[16:32]...)
	if err := unix.Sendmsg(fd, append(hello, 0, 0, 4, 0), nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	stop := []byte{8, 0, 0, 0, 0, 0, 0, 0}
	for err = nil; err == nil; {
		err = unix.Sendmsg(fd, stop, nil, nil, unix.MSG_NOSIGNAL)
	}
	if err != unix.EPIPE && err != unix.ECONNRESET {
		t.Errorf("the process that asks in vain: %v", err)
	}
	<-s.ended
	c, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-s.ended
}

// TestNoDescriptors connects with fewer and fewer free descriptors: the tracer is told,
// keeps none, and succeeds when there are enough.
func TestNoDescriptors(t *testing.T) {
	service := start(t, 0, "service").Ready()
	tracer := start(t, 0, "starved", strconv.Itoa(service.PID()))
	if got := tracer.Rest(); got != "watching\n" {
		t.Error(got)
	}
}

// starving is the role of the tracer of TestNoDescriptors. It says what went wrong.
func starving(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	// The runtime has descriptors of its own from the first connection on.
	warm, err := rendezvous.Connect(context.Background(), pid, nil)
	if err != nil {
		return err
	}
	warm.Close()
	open := func() (n int, highest int) {
		for fd := range 100 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				n, highest = n+1, fd
			}
		}
		return n, highest
	}
	before, highest := open()
	for free := 0; ; free++ {
		limit := unix.Rlimit{Cur: uint64(highest + 1 + free), Max: 1000}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		c, err := rendezvous.Connect(context.Background(), pid, nil)
		if err == nil {
			c.Close()
			if after, _ := open(); after != before || free == 0 {
				fmt.Printf("%d descriptors are left with %d free ones, and %d before\n", after, free, before)
			}
			fmt.Println(attempt(pid))
			return nil
		}
		if !strings.Contains(err.Error(), "too many open files") && !strings.Contains(err.Error(), "the limit of open files") || strings.Contains(err.Error(), "\n") {
			fmt.Printf("with %d free descriptors: %v\n", free, err)
		}
		if after, _ := open(); after != before {
			fmt.Printf("%d descriptors are left with %d free ones, and %d before: %v\n", after, free, before, err)
		}
		if free > 50 {
			return err
		}
	}
}

// lying is the role of a process whose offer looks right, and which answers a tracer in
// the way that its argument says.
func lying(args []string) error {
	path := filepath.Join(os.TempDir(), fmt.Sprint("usdt-lying-", os.Getpid()))
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(socket, &unix.SockaddrUnix{Name: path}), unix.Listen(socket, 10)); err != nil {
		return err
	}
	file, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	os.Remove(path)
	offer := binary.LittleEndian.AppendUint32([]byte("usdtoffr\x01\x00\x00\x00"), uint32(file))
	fd, err := unix.MemfdCreate("usdt-local", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, append(offer, make([]byte, 16)...)); err != nil {
		return err
	}
	w, err := ring.NewWriter(ring.GeometryFor(1<<20, 1), ring.Monotonic, "lying")
	if err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("ready")
	for {
		c, _, err := unix.Accept(socket)
		if err != nil {
			return err
		}
		send := func(message string, files ...int) error {
			return unix.Sendmsg(c, []byte(message), unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
		}
		unix.Recvfrom(c, make([]byte, 100), 0)
		const welcome = "\x02\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00"
		data, positions := int(w.Files[0]), int(w.Files[1])
		switch args[0] {
		case "nothing":
		case "short":
			send("\x02")
		case "other":
			send("\x05\x00\x00\x00\x00\x00\x00\x00")
		case "long":
			send(strings.Repeat("x", 60<<10))
		case "no files":
			send(welcome)
		case "many files":
			send(welcome, data, positions, data, positions, 0, 1, 2)
		case "other files":
			send(welcome, 0, socket)
		case "exchanged files":
			send(welcome, positions, data)
		case "loud":
			send(welcome, data, positions)
			for send("\x09\x00\x00\x00", data, positions) == nil {
			}
		case "wrong answers":
			send(welcome, data, positions)
			for {
				n, _, err := unix.Recvfrom(c, make([]byte, 64<<10), 0)
				if err != nil || n == 0 || send("\x05\x00\x00\x00", data) != nil || send("\x07\x00\x00\x00", data) != nil {
					break
				}
			}
		case "insult":
			send("\x03\x00\x00\x00\x1b[2J\n" + strings.Repeat("!", 30<<10))
		}
		unix.Close(c)
	}
}

// TestLying checks that a tracer of a process that answers wrongly is told in a sentence,
// and keeps nothing: no descriptor, no goroutine, no memory.
func TestLying(t *testing.T) {
	for _, how := range []string{"nothing", "short", "other", "long", "no files", "many files", "other files", "exchanged files", "loud", "wrong answers", "insult"} {
		t.Run(how, func(t *testing.T) {
			service := tracee.StartVictim(t, tracee.Self("lying", how)).Ready()
			before, goroutines, mapped := 0, 0, 0
			rounds := 20
			if how == "loud" {
				rounds = 2 // the tracer waits for answers
			}
			for round := range rounds {
				c, err := rendezvous.Connect(t.Context(), service.PID(), nil)
				if err == nil {
					end := time.Now().Add(20 * time.Millisecond)
					for range 5 {
						_, err = c.Watch([]rendezvous.Site{{Location: 1, Number: 1, Layout: &record.Layout{}}})
						if _, e := c.Ring.Poll(false); e != nil || time.Now().After(end) {
							break
						}
					}
					c.Close()
				}
				if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Fatalf("got %v, want one printable sentence", err)
				}
				if round == 0 {
					before, goroutines, mapped = leftover.Descriptors(t), runtime.NumGoroutine(), rings(t)
				}
			}
			leftover.Back(t, before)
			until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
			if n := rings(t); n > mapped || n > 0 {
				t.Errorf("%d files and mappings of rings are left", n)
			}
		})
	}
}
