package sums

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
)

var (
	errNoStack   = errors.New("the stack could not be read")
	errStackLost = errors.New("there were too many stacks to keep its addresses")
)

// AddStacks adds stacks by their hashes.
func (s *Sums) AddStacks(stacks map[uint64]query.GroupStack) {
	if s.stacks == nil {
		s.stacks = stacks
		return
	}
	for hash, st := range stacks {
		s.stacks[hash] = st
	}
}

// Unite adds up groups whose stacks have the same frames: groups of processes that run the same
// files, and groups that differ only in what is not shown. Keys have numbers in place of hashes
// then. When more groups come, all can be united again. unite ends early if over says that
// nobody asks for groups any more; over may be nil. probes are the numbers that stand for probes, by
// the probes of their sites; name names the frames of a stack.
func (s *Sums) Unite(probes []int, name func(*query.GroupStack) *event.Stack, over func() bool) {
	part := s.Layout.StackPart()
	if part == nil {
		return
	}
	if s.named == nil {
		s.named = map[uint64]*event.Stack{}
	}
	numbers := map[uint64]uint64{0: 0}
	of := make(map[string][]uint64, len(s.of))
	old := s.of
	s.of = of
	for key, words := range old {
		if over != nil && over() {
			return
		}
		if isOther([]byte(key)) {
			s.AddWords(key, words)
			continue
		}
		b := []byte(key)
		hash := binary.NativeEndian.Uint64(b[part.Offset:])
		number, known := numbers[hash]
		if !known {
			number = hash
			if st, ok := s.stacks[hash]; ok && s.named[hash] == nil {
				stack := name(&st)
				number = identify(stack, st.PID)
				s.named[number] = stack
			}
			numbers[hash] = number
		}
		binary.NativeEndian.PutUint64(b[part.Offset:], number)
		for i := range s.Layout.Parts {
			if p := &s.Layout.Parts[i]; p.In.Source == query.InputProbe {
				site := b[p.Offset:]
				if n := binary.NativeEndian.Uint64(site); n < uint64(len(probes)) {
					binary.NativeEndian.PutUint64(site, uint64(probes[n]))
				}
			}
		}
		s.AddWords(string(b), words)
	}
	s.stacks = nil
}

// identify returns a number that differs between stacks whose frames differ, never 0. Frames
// without a module or a function belong to their process.
func identify(s *event.Stack, pid int) uint64 {
	var b []byte
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) {
		number(uint64(len(s)))
		b = append(b, s...)
	}
	for _, f := range s.Frames() {
		text(f.Func)
		text(f.File)
		number(uint64(f.Line))
		text(f.Module)
		text(f.BuildID)
		number(f.Offset)
		if f.Module == "" && f.Func == "" {
			number(uint64(pid))
			number(f.Address)
		}
	}
	if s.Err != nil {
		text(s.Err.Error())
	}
	sum := sha256.Sum256(b)
	return max(1, binary.NativeEndian.Uint64(sum[:]))
}

// decodeStack sets the value of a key that is a stack, by its number.
func decodeStack(arg *event.Arg, number uint64, named map[uint64]*event.Stack) {
	switch s := named[number]; {
	case number == 0:
		arg.Err = errNoStack
	case s == nil:
		arg.Err = errStackLost
	default:
		arg.Value = s
	}
}
