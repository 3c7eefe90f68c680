package cgroups

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/container"
)

// Live names the groups in which probes fire. Programs keep the path of a group when they first see
// it, so that a group has a name however soon it ends. The name of its container is
// read from files when the group is made, or seen.
type Live struct {
	Table *Table

	layout *layout
	names  container.Names
	trees  []*tree
	tests  []Test
	stop   chan struct{}
	ended  sync.WaitGroup

	seen, blank, verdicts *ebpf.Map

	using  sync.Mutex // the maps and trees, except by watch
	closed bool

	mu      sync.Mutex // of what follows; locked behind that of a tree
	counted uint64
	taken   map[uint64]bool
	unsure  map[uint64]retry
	said    map[uint64]uint64 // in verdicts
	fired   map[uint64]bool   // groups that programs have seen
	past    []uint64          // groups that are gone, the oldest first
	keys    []uint64          // groups that programs have seen, gone before the groups in past
	err     error
}

// retry is when files are asked again.
type retry struct{ since, next time.Time }

// Test is a comparison of a word of groups.
type Test struct {
	Word  container.Word
	Holds func(text string) bool
}

// MaxTests is the largest number of tests.
const MaxTests = 64

const (
	maxSeen  = 4096
	interval = 20 * time.Millisecond // between looks for what programs have seen
	patience = 100 * time.Millisecond
)

// Name begins to name groups, and to decide tests on them.
func Name(names container.Names, tests []Test) (_ *Live, err error) {
	v1 := controller()
	l := &Live{Table: NewTable(), names: names, tests: tests, stop: make(chan struct{}), taken: map[uint64]bool{}, unsure: map[uint64]retry{}, said: map[uint64]uint64{}, fired: map[uint64]bool{}}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.layout, err = newLayout(v1); err != nil {
		return nil, err
	}
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&l.seen, ebpf.MapSpec{Name: "usdt_groups_seen", Type: ebpf.Hash, KeySize: 8, ValueSize: entrySize, MaxEntries: maxSeen}},
		{&l.blank, ebpf.MapSpec{Name: "usdt_group_new", Type: ebpf.Array, KeySize: 4, ValueSize: 8 + entrySize, MaxEntries: 1}},
		{&l.verdicts, ebpf.MapSpec{Name: "usdt_group_is", Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: Most, Flags: unix.BPF_F_NO_PREALLOC}},
	} {
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			return nil, fmt.Errorf("create the maps of control groups: %w", err)
		}
	}
	for _, root := range []uint64{rootID, rootID | ofV1} { // which need not be mounted here
		if err := l.learn(root, "/"); err != nil {
			return nil, err
		}
	}
	if err := l.follow(v1); err != nil && len(tests) > 0 {
		return nil, err
	}
	l.ended.Go(l.watch)
	return l, nil
}

// follow follows the hierarchies that are mounted here. Groups of others are named when programs
// have seen them.
func (l *Live) follow(v1 int) error {
	var at []string
	if roots, err := container.Roots(); err == nil {
		at = roots[:1]
	}
	two := len(at)
	if v1 >= 0 {
		if roots := container.RootsV1(controllers[v1].name); len(roots) > 0 {
			at = append(at, roots[0])
		}
	}
	for i, root := range at {
		var mark uint64
		if i >= two {
			mark = ofV1
		}
		ids := map[string]uint64{}
		t := &tree{
			found: func(group string, id uint64) error {
				ids[group] = id | mark
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.learn(id|mark, group)
			},
			lost: func(group string) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.gone(ids[group])
				delete(ids, group)
			},
		}
		if err := t.open(root); err != nil {
			return err
		}
		l.trees = append(l.trees, t)
	}
	return nil
}

// Load puts the id of the current task's group into dst. It changes R0 to R5 and a slot of the stack.
func (l *Live) Load(dst asm.Register, slot int16) asm.Instructions { return l.layout.load(dst, slot) }

// Note has a program keep the path of a group that it is the first to see. It changes R0 to R5, R7 to
// R9 and three words of the stack from slot on down. It may jump to done, which follows it.
func (l *Live) Note(slot int16, done string) asm.Instructions {
	return l.layout.note(slot, l.seen.FD(), l.blank.FD(), done)
}

// Decided puts 1 into R1 if a test holds for the group whose id is there, 0 if it does not, and jumps
// to unknown if that is not known yet. It changes R0 to R5 and a slot of the stack.
func (l *Live) Decided(test int, slot int16, unknown string) asm.Instructions {
	return asm.Instructions{
		asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, l.verdicts.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(slot)),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, unknown),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.RSh.Imm(asm.R1, int32(test)), asm.And.Imm(asm.R1, 1),
	}
}

// Verdicts is a map of the tests that hold for groups: bits, by ids. Groups that it lacks are not
// known yet.
func (l *Live) Verdicts() *ebpf.Map { return l.verdicts }

// watch takes what programs have seen, and asks files again.
func (l *Live) watch() {
	for tick := time.NewTicker(interval); ; {
		select {
		case <-tick.C:
		case <-l.stop:
			tick.Stop()
			return
		}
		l.mu.Lock()
		err := errors.Join(l.take(), l.again(time.Now()))
		l.err = cmp.Or(l.err, err)
		l.mu.Unlock()
	}
}

// Refresh has named, when it returns, all groups that were made or seen before. It does nothing after
// Close.
func (l *Live) Refresh() error {
	if l == nil {
		return nil
	}
	l.using.Lock()
	defer l.using.Unlock()
	if l.closed {
		return nil
	}
	var err error
	for _, t := range l.trees {
		t.mu.Lock()
		err = errors.Join(err, t.refresh())
		t.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = errors.Join(err, l.err, l.take(), l.again(time.Time{}))
	l.err = nil
	return err
}

// Close ends the watch, and closes the maps. The Table remains.
func (l *Live) Close() {
	if l == nil {
		return
	}
	l.using.Lock()
	defer l.using.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	close(l.stop)
	l.ended.Wait()
	for _, t := range l.trees {
		t.close()
	}
	for _, m := range []*ebpf.Map{l.seen, l.blank, l.verdicts} {
		if m != nil {
			m.Close()
		}
	}
}

// take learns the groups that programs have seen. mu is locked, as for what follows.
func (l *Live) take() error {
	var news [8 + entrySize]byte
	if err := l.blank.Lookup(uint32(0), &news); err != nil {
		return fmt.Errorf("look for new control groups: %w", err)
	}
	counted := binary.NativeEndian.Uint64(news[:])
	if counted == l.counted {
		return nil
	}
	l.counted = counted
	var err error
	var id uint64
	var entry [entrySize]byte
	var all []uint64
	for seen := l.seen.Iterate(); seen.Next(&id, &entry); {
		if all = append(all, id); l.taken[id] {
			continue
		}
		if path, whole := pathOf(entry[:]); whole {
			l.taken[id], l.fired[id] = true, true
			err = errors.Join(err, l.learn(id, path))
		}
	}
	if len(all) > maxSeen/2 { // groups that are in use are seen again
		for _, id := range all {
			if l.taken[id] {
				err = errors.Join(err, l.seen.Delete(id))
				delete(l.taken, id)
			}
		}
	}
	return err
}

// pathOf returns the path that an entry has; whole is false while a program writes it.
func pathOf(entry []byte) (path string, whole bool) {
	n := binary.NativeEndian.Uint64(entry)
	if n == 0 || n > maxLevels {
		return "", false
	}
	var names []string
	for i := range int(n) {
		name := unix.ByteSliceToString(entry[8+i*nameSize:][:nameSize])
		if name != "" { // the root's
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/"), true
}

// learn notes the path of a group, and what files say.
func (l *Live) learn(id uint64, path string) error {
	if g, known := l.Table.Of(id); known && g.Path == path {
		return nil
	}
	g, unsure := l.names.Describe(path)
	l.Table.Put(id, g)
	if unsure {
		now := time.Now()
		l.unsure[id] = retry{now, now.Add(patience)}
	} else {
		delete(l.unsure, id)
	}
	return l.decide(id, &g)
}

// again asks files for names that they did not have, less often as time goes by; at a zero time all.
func (l *Live) again(now time.Time) (err error) {
	for id, r := range l.unsure {
		if now.Before(r.next) && !now.IsZero() {
			continue
		}
		old, _ := l.Table.Of(id)
		g, unsure := l.names.Describe(old.Path)
		if g.Container == "" || unsure && g == old {
			if !now.IsZero() {
				l.unsure[id] = retry{r.since, now.Add(max(patience, now.Sub(r.since)/4))}
			}
			continue
		}
		if l.Table.Put(id, g); !unsure {
			delete(l.unsure, id)
		}
		err = errors.Join(err, l.decide(id, &g))
	}
	return err
}

// decide decides the tests on a group.
func (l *Live) decide(id uint64, g *container.Group) error {
	if len(l.tests) == 0 {
		return nil
	}
	verdict := uint64(0)
	for i, t := range l.tests {
		if t.Holds(g.Text(t.Word)) {
			verdict |= 1 << i
		}
	}
	if said, known := l.said[id]; known && said == verdict {
		return nil
	}
	if err := l.verdicts.Put(id, verdict); err != nil {
		return fmt.Errorf("decide whether control group %s is meant: %w", g.Path, err)
	}
	l.said[id] = verdict
	return nil
}

const (
	// maxPast is how many groups that are gone keep their names although no program has seen them: more than
	// are gone before take learns that a program has seen one.
	maxPast = 4096
	// maxKeys is how many more groups that are gone keep their names since programs have seen them. In keys,
	// older ones have their ids as paths, and no container and pod.
	maxKeys = 1 << 14
)

// gone forgets what is needed only while there are processes in a group. Its names are kept for a while,
// and for longer if programs have seen it, since it may be in a key.
func (l *Live) gone(id uint64) {
	if id == 0 {
		return // it was not known
	}
	l.past = append(l.past, id)
	if len(l.past) > maxPast {
		oldest := l.past[0]
		l.past = l.past[1:]
		if l.fired[oldest] {
			l.keys = append(l.keys, oldest)
		} else {
			l.Table.Forget(oldest)
		}
	}
	if len(l.keys) > maxKeys {
		delete(l.fired, l.keys[0])
		l.Table.Forget(l.keys[0])
		l.keys = l.keys[1:]
	}
	delete(l.unsure, id)
	if _, known := l.said[id]; known {
		_ = l.verdicts.Delete(id)
		delete(l.said, id)
	}
}
