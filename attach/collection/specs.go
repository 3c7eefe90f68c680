package collection

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/libbpf"
	"github.com/go-usdt/usdt/internal/privilege"
)

// specTable is a collection's map of argument specs. Sites of all programs share
// equal specs; the number of its spec is a site's cookie. A collection without
// usdt.bpf.h has a nil table.
type specTable struct {
	layout *libbpf.Layout

	mu   sync.Mutex
	m    *ebpf.Map
	ids  map[string]uint32
	refs []int // attachments that use a spec, by number
	free []uint32
}

func newSpecTable(spec *ebpf.MapSpec) (*specTable, error) {
	layout, err := libbpf.LayoutOf(spec.Value)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", libbpf.SpecMap, err)
	}
	if spec.Type != ebpf.Array || spec.KeySize != 4 || int(spec.ValueSize) != layout.Size {
		return nil, fmt.Errorf("map %s is not an array of argument specs", libbpf.SpecMap)
	}
	return &specTable{layout: layout, ids: map[string]uint32{}}, nil
}

// acquire puts specs that are not empty into the map and returns their numbers,
// which the caller releases.
func (t *specTable) acquire(specs []string) (map[string]uint32, error) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := map[string]uint32{}
	for _, s := range specs {
		if _, ok := ids[s]; ok || s == "" {
			continue
		}
		id, ok := t.ids[s]
		if !ok {
			var err error
			if id, err = t.add(s); err != nil {
				t.releaseLocked(ids)
				return nil, err
			}
		}
		t.refs[id]++
		ids[s] = id
	}
	return ids, nil
}

func (t *specTable) add(spec string) (uint32, error) {
	id := uint32(len(t.refs))
	last := len(t.free) - 1
	switch {
	case last >= 0:
		id = t.free[last]
	case id >= t.m.MaxEntries():
		return 0, fmt.Errorf("map %s is full with %d argument specs: raise its MaxEntries before the collection is loaded", libbpf.SpecMap, id)
	}
	if err := t.m.Put(id, []byte(spec)); err != nil {
		return 0, privilege.Explain("write argument specs", err)
	}
	if last >= 0 {
		t.free = t.free[:last]
	} else {
		t.refs = append(t.refs, 0)
	}
	t.ids[spec] = id
	return id, nil
}

func (t *specTable) release(ids map[string]uint32) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(ids)
}

func (t *specTable) releaseLocked(ids map[string]uint32) {
	for s, id := range ids {
		if t.refs[id]--; t.refs[id] == 0 {
			delete(t.ids, s)
			t.free = append(t.free, id)
		}
	}
}
