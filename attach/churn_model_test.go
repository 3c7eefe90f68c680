package attach_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// churns is the number of random sequences that TestChurnModel runs each way.
var churns = flag.Int("churns", 8, "number of sequences of TestChurnModel")

const churnDir = "ATTACH_TEST_CHURN" // of objects; memory files without it

func init() {
	roles["churn"] = func(args []string) error {
		fmt.Println("ready") // else a command could be read before an exec
		return tracee.Obey(churn())(args)
	}
	roles["churnfork"] = func([]string) error { return errors.Join(churn()("load 0 0"), churn()("fire 0 -1")) }
}

// churn returns the commands of a service with two providers of two probes each, that it
// loads and closes in any order.
func churn() func(command string) error {
	var providers [2]*provider.Provider
	var probes [2][2]*provider.Probe1[int]
	for i := range providers {
		o := &provider.Options{Local: true}
		if dir := os.Getenv(churnDir); dir != "" {
			o.Backing, o.Dir = provider.BackingFile, dir
		}
		providers[i] = provider.New(fmt.Sprint("churn", i), o)
		for j := range probes[i] {
			probes[i][j] = provider.NewProbe1[int](providers[i], fmt.Sprint("probe", j), "n")
		}
	}
	return func(command string) error {
		var what string
		var i, n int
		if _, err := fmt.Sscan(command, &what, &i, &n); err != nil {
			return err
		}
		switch what {
		case "load":
			return providers[i].Load()
		case "close":
			return providers[i].Close()
		case "await":
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Microsecond) {
				if probes[i][0].Enabled() && probes[i][1].Enabled() {
					return nil
				}
				if time.Now().After(deadline) {
					return errors.New("nobody watches")
				}
			}
		case "fire":
			probes[i][n%2&1].Fire(n)
			return nil
		case "fork":
			return tracee.Self("churnfork").Run()
		case "exec":
			return syscall.Exec("/proc/self/exe", os.Args, tracee.Self("churn").Env)
		}
		return errors.New(command)
	}
}

// TestChurnModel traces a service that loads, closes, forks, executes itself anew and is
// killed in random order, and compares with a model how often each event comes: once if the
// probe was attached to, not at all if it was closed, and never twice.
func TestChurnModel(t *testing.T) {
	for _, via := range []attach.Via{attach.ViaLocal, attach.ViaKernel, attach.ViaBoth} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprint(via, " ", dir != ""), func(t *testing.T) {
				for seed := range uint64(*churns) {
					m := &churnModel{random: rand.New(rand.NewPCG(seed, 0)), least: map[int]int{}, most: map[int]int{}}
					t.Run(fmt.Sprint(seed), func(t *testing.T) { m.run(t, via, dir) })
				}
			})
		}
	}
}

// churnModel is what is to be expected of a service.
type churnModel struct {
	random      *rand.Rand
	loaded      [2]bool
	n           int
	least, most map[int]int // how often each event comes
	log         []string
}

func (m *churnModel) run(t *testing.T, via attach.Via, dir string) {
	cmd := tracee.Self("churn")
	cmd.Env = append(cmd.Env, churnDir+"="+dir)
	p := start(t, cmd).Ready()
	do := func(format string, args ...any) {
		m.log = append(m.log, fmt.Sprintf(format, args...))
		p.Do("%s", m.log[len(m.log)-1])
	}
	fire := func(i, least, most int) {
		m.n++
		m.least[m.n], m.most[m.n] = least, most
		do("fire %d %d", i, m.n)
	}
	do("load 0 0")
	m.loaded[0] = true
	s, err := attach.Open(t.Context(), []string{"churn*:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: via}, Rescan: time.Millisecond})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	defer func() {
		if t.Failed() {
			for _, site := range s.Plan() {
				t.Logf("%s: attached %v, local %v, %v", site.Probe.Name, site.Attached, site.Local, site.Reason)
			}
			t.Logf("%q", m.log)
		}
	}()
	came := map[int]int{}
	read := make(chan error, 1)
	go func() {
		for ev, err := range s.Events() {
			if err != nil {
				read <- err
				return
			}
			came[int(ev.Args[0].Value.(int64))]++
		}
		read <- nil
	}()
	settled := func(i int) {
		if !m.loaded[i] {
			return
		}
		do("await %d 0", i)
		if err := s.Rescan(); err != nil {
			t.Error(err)
		}
		fire(i, 1, 1)
		fire(i, 1, 1)
	}
	for range 25 {
		i := m.random.IntN(2)
		switch m.random.IntN(9) {
		case 0, 1:
			do("load %d 0", i)
			m.loaded[i] = true
		case 2, 3:
			do("close %d 0", i)
			m.loaded[i] = false
		case 4, 5, 6:
			settled(i)
		case 7:
			if m.loaded[i] {
				fire(i, 0, 1)
			} else {
				fire(i, 0, 0)
			}
		case 8:
			if m.random.IntN(2) == 0 {
				do("fork 0 0")
				continue
			}
			m.log = append(m.log, "exec")
			p.Send("exec 0 0")
			p.Ready()
			m.loaded = [2]bool{}
		}
	}
	settled(0)
	settled(1)
	p.Signal(syscall.SIGKILL)
	p.End()
	if err := <-read; err != nil {
		t.Error(err)
	}
	for n := range m.n + 1 {
		if came[n] < m.least[n] || came[n] > m.most[n] {
			t.Errorf("event %d came %d times, want %d to %d", n, came[n], m.least[n], m.most[n])
		}
	}
	if came[-1] > 0 {
		t.Errorf("%d events of another process", came[-1])
	}
	checkSum(t, s)
}
