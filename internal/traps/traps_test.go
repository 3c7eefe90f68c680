package traps_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/program"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/traps"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// TestSites measures the trap of a probe by its plan, and compares with what firing it takes.
func TestSites(t *testing.T) {
	needs.Root(t)
	p := provider.New("trapped", nil)
	one := provider.NewProbe1[int](p, "one", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m, err := traps.New()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a, err := attach.OpenAggregate(t.Context(), []string{"trapped:one"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		t.Fatal(err)
	}
	least, most, err := m.Sites(t.Context(), a.Plan(), func(*reader.Probe) bool { return true })
	if err != nil || least <= 0 || least != most {
		t.Fatalf("%v to %v, %v; want one time", least, most, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if none, _, err := m.Sites(t.Context(), a.Plan(), func(*reader.Probe) bool { return false }); none != 0 || err != nil {
		t.Errorf("no sites take %v, %v", none, err)
	}
	empty, err := program.AttachEmpty(os.Getpid(), "trapped", "one")
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if fired := fire(one); fired < least/3 || fired > 10*least {
		t.Errorf("firing takes %v, of which the trap would take %v", fired, least)
	}
}

// fire returns the shortest CPU time of an event in ten tries.
func fire(one *provider.Probe1[int]) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const times = 20_000
	least := time.Hour
	for range 10 {
		began := sys.ThreadTime()
		for i := range times {
			one.Fire(i)
		}
		least = min(least, (sys.ThreadTime()-began)/times)
	}
	return least
}

// TestOf checks that a kind of site is measured once, and that each kind can be.
func TestOf(t *testing.T) {
	needs.Root(t)
	m, err := traps.New()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name, s := range map[string]traps.Trapped{
		"nop":        {Kind: notes.SiteNop},
		"loop":       {Kind: notes.SiteNop, Loop: true},
		"nop5":       {Kind: notes.SiteNop5},
		"push %rbp":  {Kind: notes.SiteOther, Instruction: []byte{0x55}},
		"ret":        {Kind: notes.SiteOther, Instruction: []byte{0xc3}},
		"its return": {Kind: notes.SiteOther, Instruction: []byte{0x55}, Return: true},
	} {
		took, err := m.Of(t.Context(), s)
		if err != nil || took < 10*time.Nanosecond || took > time.Millisecond {
			t.Errorf("%s takes %v, %v", name, took, err)
		}
		if again, err := m.Of(t.Context(), s); again != took || err != nil {
			t.Errorf("%s: %v, and then %v (%v)", name, took, again, err)
		}
	}
}

// TestSharedTrap checks that the kernel has processes trap once where several programs are attached.
func TestSharedTrap(t *testing.T) {
	needs.Root(t)
	p := provider.New("trapped_by_many", nil)
	one := provider.NewProbe1[int](p, "one", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const all = 6
	var took [all]time.Duration
	for n := range all {
		attached, err := program.AttachEmpty(os.Getpid(), "trapped_by_many", "one")
		if err != nil {
			t.Fatal(err)
		}
		defer attached.Close()
		took[n] = fire(one)
	}
	t.Logf("an event takes %v with 1 to %d programs", took, all)
	if took[all-1] > 3*took[0] {
		t.Errorf("an event takes %v with %d programs, %v with one: it traps for each", took[all-1], all, took[0])
	}
}
