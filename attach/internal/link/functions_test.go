package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// patching stands in the kernel's place: it refuses functions by their ids, when it looks at them or
// when it patches them, and counts what it was asked.
type patching struct {
	lacks   bool // links of many functions
	refuse  map[uint32]error
	full    map[uint32]error  // when it patches
	moved   map[uint32]uint64 // where it finds functions
	last    uint32            // what it was asked for last
	made    []uint32          // the functions of links
	looks   int               // links that were asked for
	unknown error             // of every call
}

func (k *patching) HaveMany(When) (bool, error) { return !k.lacks, k.unknown }

func (k *patching) LinkFunctions(_ *ebpf.Program, _ When, ids []uint32, cookies []uint64) (int, error) {
	if k.looks++; len(ids) != len(cookies) || !slices.IsSorted(ids) && slices.Max(ids) != outside {
		return -1, fmt.Errorf("ids %v with %d cookies", ids, len(cookies))
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if id == outside {
			return -1, unix.EINVAL
		}
		if err := k.refuse[id]; err != nil {
			return -1, err
		}
	}
	for _, id := range ids {
		if err := k.full[id]; err != nil {
			return -1, err
		}
	}
	k.made = append(k.made, ids...)
	k.last = uint32(len(ids))
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (k *patching) LinkFunction(_ *ebpf.Program, _ When, cookie uint64) (int, error) {
	if err := k.refuse[uint32(cookie)]; err != nil {
		return -1, err
	}
	k.made = append(k.made, uint32(cookie))
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (k *patching) FunctionsOf(int, int) (ids []uint32, addresses []uint64, err error) {
	ids = slices.Clone(k.made[len(k.made)-int(k.last):])
	for _, id := range ids {
		address := k.moved[id]
		if address == 0 {
			address = addressOf(id) - 4 // where the function begins
		}
		addresses = append(addresses, address)
	}
	return ids, addresses, nil
}

// addressOf is where the function with an id is patched.
func addressOf(id uint32) uint64 { return 0xffffffff81000000 + 16*uint64(id) + 4 }

// functionsOn are functions of a kernel, or of what stands for one.
type functionsOn struct {
	Functions
	calls FunctionCalls
}

// Attach attaches as attachTrampolines does: by as few links as possible if the kernel has links of many
// functions, else by one for each. refused says, by the index of the function, why it was not attached to.
func (f *functionsOn) Attach(ctx context.Context) (links []Link, refused []error, err error) {
	a := &functionsAttempt{Functions: &f.Functions, calls: f.calls, outcomes: make([]error, len(f.List))}
	for i := range a.outcomes {
		a.outcomes[i] = errUntried
	}
	if left := a.distinct(); len(left) > 0 {
		var many bool
		switch many, err = f.calls.HaveMany(f.When); {
		case err != nil:
			err = a.wholeError(err)
		case many:
			err = a.attachMany(ctx, left)
		default:
			err = a.attachSingle(ctx, left)
		}
	}
	for i, outcome := range a.outcomes {
		if outcome == errUntried {
			a.outcomes[i] = err
		}
	}
	return a.links, a.outcomes, err
}

// functionsOf returns functions with ids, whose cookies are equal to these.
func functionsOf(k *patching, ids ...uint32) *functionsOn {
	f := &functionsOn{Functions{Module: "vmlinux", Load: func(uint32) (*ebpf.Program, error) { return nil, nil }}, k}
	for _, id := range ids {
		f.List = append(f.List, Function{ID: id, Address: addressOf(id), Cookie: uint64(id)})
	}
	return f
}

func idsTo(n uint32) (ids []uint32) {
	for id := uint32(1); id <= n; id++ {
		ids = append(ids, id)
	}
	return ids
}

func attachAll(t *testing.T, f *functionsOn) (refused []error) {
	t.Helper()
	links, refused, err := f.Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	return refused
}

// TestFunctionsRefused checks that refused functions are found, each with its error, and the rest is
// attached to: by one link if something is known that ftrace does not patch, else by several.
func TestFunctionsRefused(t *testing.T) {
	refuse := map[uint32]error{1: unix.EINVAL, 7: unix.ENOENT, 8: unix.EINVAL, 500: unix.EOPNOTSUPP, 999: unix.EINVAL, 1000: unix.ENOENT, 2000: unix.ENOENT}
	for name, unpatched := range map[string][]uint32{"by one that is unpatched": {2, 2000, 1999}, "by one in the middle": {600, 2000, 7}, "by none": nil} {
		t.Run(name, func(t *testing.T) {
			k := &patching{refuse: refuse}
			if name == "by one in the middle" {
				k.refuse = map[uint32]error{600: unix.ENOENT, 2000: nil}
				for id, err := range refuse {
					if id != 2000 {
						k.refuse[id] = err
					}
				}
			}
			f := functionsOf(k, idsTo(1000)...)
			f.Unpatched = func() []uint32 { return unpatched }
			slices.Reverse(f.List)
			links, refused, err := f.Attach(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, err := range refused {
				if id := f.List[i].ID; !errors.Is(err, k.refuse[id]) {
					t.Errorf("function %d: %v, want %v", id, err, k.refuse[id])
				}
			}
			slices.Sort(k.made)
			want := slices.DeleteFunc(idsTo(1000), func(id uint32) bool { return k.refuse[id] != nil })
			if !slices.Equal(k.made, want) {
				t.Errorf("attached to %d functions, want %d, each once", len(k.made), len(want))
			}
			if name == "by one that is unpatched" && (len(links) != 1 || k.looks > 300) {
				t.Errorf("%d links, asked for %d times, want 1 after a search by halving", len(links), k.looks)
			}
			for _, l := range links {
				l.Close()
			}
		})
	}
}

// TestFunctionsUnrefused checks that functions of which the kernel refuses none are attached to at once.
func TestFunctionsUnrefused(t *testing.T) {
	k := &patching{}
	f := functionsOf(k, idsTo(1000)...)
	f.Unpatched = func() []uint32 { t.Error("asked for functions that are not patched"); return nil }
	attachAll(t, f)
	if k.looks != 1 || len(k.made) != 1000 {
		t.Errorf("asked for %d links of %d functions, want one of 1000", k.looks, len(k.made))
	}
}

// TestFunctionsFull checks that functions are refused alone which the kernel refuses only when it
// patches them.
func TestFunctionsFull(t *testing.T) {
	k := &patching{refuse: map[uint32]error{50: unix.ENOENT}, full: map[uint32]error{3: unix.E2BIG, 9: unix.EBUSY}}
	f := functionsOf(k, idsTo(20)...)
	f.Unpatched = func() []uint32 { return []uint32{50} }
	for i, err := range attachAll(t, f) {
		if want := k.full[f.List[i].ID]; !errors.Is(err, want) {
			t.Errorf("function %d: %v, want %v", f.List[i].ID, err, want)
		}
	}
	if len(k.made) != 18 {
		t.Errorf("attached to %d functions, want 18: %v", len(k.made), k.made)
	}
}

// TestFunctionsAliases checks that no two functions of one address get into links, nor one whose
// address is not known.
func TestFunctionsAliases(t *testing.T) {
	for _, lacks := range []bool{false, true} {
		k := &patching{lacks: lacks, moved: map[uint32]uint64{1: addressOf(4)}}
		f := functionsOf(k, 1, 2, 3, 4, 5)
		f.List[0].Address = addressOf(4) - 4 // where the function begins, and is not patched
		f.List[2].Address = addressOf(2)
		f.List[4].Address = 0
		refused := attachAll(t, f)
		var alias *AliasError
		if !errors.As(refused[3], &alias) || alias.Of != 1 || !errors.As(refused[2], &alias) || alias.Of != 2 || refused[4] != errNoAddress {
			t.Errorf("functions are refused with %v", refused)
		}
		if slices.Sort(k.made); !slices.Equal(k.made, []uint32{1, 2}) {
			t.Errorf("attached to %v, want 1 and 2", k.made)
		}
	}
}

// TestFunctionsCompared checks that a link is closed which is not for the functions that it was
// made for.
func TestFunctionsCompared(t *testing.T) {
	k := &patching{moved: map[uint32]uint64{2: addressOf(7)}}
	links, refused, err := functionsOf(k, 1, 2, 3).Attach(t.Context())
	if err == nil || !strings.Contains(err.Error(), "BTF id 2 of vmlinux at 0xffffffff81000074") || len(links) > 0 || refused[0] != err {
		t.Errorf("%d links, error %v, want one that names function 2", len(links), err)
	}
}

// TestFunctionsSingle checks that kernels without links of many functions get one for each of a few.
func TestFunctionsSingle(t *testing.T) {
	k := &patching{lacks: true, refuse: map[uint32]error{2: unix.EINVAL}}
	f := functionsOf(k, 1, 2, 3)
	if refused := attachAll(t, f); !errors.Is(refused[1], unix.EINVAL) || refused[0] != nil || refused[2] != nil || len(k.made) != 2 {
		t.Errorf("attached to %v, refused %v", k.made, refused)
	}
}

// TestFunctionsWhole checks that errors which no function is to blame for end the attempt.
func TestFunctionsWhole(t *testing.T) {
	k := &patching{refuse: map[uint32]error{2: unix.EPERM}}
	if _, refused, err := functionsOf(k, 1, 2, 3).Attach(t.Context()); !errors.Is(err, os.ErrPermission) || refused[0] != err {
		t.Errorf("not permitted: %v, functions %v", err, refused)
	}
	if _, _, err := functionsOf(&patching{unknown: unix.ENOMEM}, 1).Attach(t.Context()); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("no memory: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(unix.EINTR)
	for _, lacks := range []bool{false, true} {
		f := functionsOf(&patching{lacks: lacks, refuse: map[uint32]error{9: unix.ENOENT}}, 1, 2)
		f.Unpatched = func() []uint32 { return []uint32{9} }
		if links, _, err := f.Attach(ctx); !errors.Is(err, unix.EINTR) || len(links) > 0 {
			t.Errorf("canceled: %v, %d links", err, len(links))
		}
	}
	if _, refused, err := functionsOf(&patching{}).Attach(t.Context()); err != nil || len(refused) > 0 {
		t.Errorf("of none: %v, %v", err, refused)
	}
}
