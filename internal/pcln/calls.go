package pcln

import "slices"

// Words of moduledata come and go: covctrs and ecovctrs with Go 1.20, typedesclen,
// itaboffset and itabsize with Go 1.27. So its word gofunc, from where tables of inlined
// calls count, is known by what must be there.

const (
	// maxTrees is the number of functions whose tables of inlined calls must be there.
	maxTrees = 64
	// maxVisited is the number of functions among which they are looked for.
	maxVisited = 1 << 16
	// maxCalls is the number of entries of a table that must be right.
	maxCalls = 64
)

// tree is the table of inlined calls of a function.
type tree struct {
	offset uint64 // from where such tables count
	fn     function
	values uint32
	size   uint64 // of the function
	calls  []int32
}

// trees returns tables of inlined calls of functions all over the program.
func (t *Table) trees() (out []tree) {
	const step = 0x9e3779b1 // a prime number, so that no function is visited twice
	steps := maxSteps
	for k := range min(t.count, maxVisited) {
		i := int(uint64(k) * step % uint64(t.count))
		fn, ok := t.function(i)
		if !ok {
			continue
		}
		next := tree{fn: fn, size: t.entry(i+1) - fn.entry}
		if next.offset, next.values = t.inlTree(&fn); next.offset == noTree {
			continue
		}
		fn.steps = steps
		for _, n := range t.steps(&fn, next.values) {
			if n >= 0 && len(next.calls) < maxCalls && !slices.Contains(next.calls, n) {
				next.calls = append(next.calls, n)
			}
		}
		if steps = fn.steps; steps < 0 {
			break
		}
		if len(next.calls) > 0 {
			if out = append(out, next); len(out) == maxTrees {
				break
			}
		}
	}
	return out
}

// isAt reports whether the table is there if tables count from calls: its entries are
// calls of functions that have a name, at instructions of the function that are not
// inlined by the same call.
func (tr *tree) isAt(t *Table, calls uint64, steps *int) bool {
	fn := tr.fn
	fn.steps = *steps
	defer func() { *steps = fn.steps }()
	for _, n := range tr.calls {
		call, ok := t.inlinedCall(calls+tr.offset, n)
		if !ok || call.site >= tr.size || !t.isName(call.name) {
			return false
		}
		if t.value(&fn, tr.values, fn.entry+call.site) == n {
			return false
		}
	}
	return true
}

// isName reports whether a name begins at an offset.
func (t *Table) isName(off uint64) bool {
	return off > 0 && off < uint64(len(t.names)) && t.names[off-1] == 0 && t.names[off] != 0
}

// findCalls finds the address from which tables of inlined calls count, among the words
// of moduledata. Two that are right are none.
func (t *Table) findCalls(words []uint64, trees []tree) (calls uint64, ok bool) {
	steps := maxSteps
	for i, word := range words {
		wrong := func(tr tree) bool { return !tr.isAt(t, word, &steps) }
		if slices.Contains(words[:i], word) || slices.ContainsFunc(trees, wrong) {
			continue
		}
		if ok {
			return 0, false
		}
		calls, ok = word, true
	}
	return calls, ok
}
