package page

import (
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// tree is the calls that led to events, from the outermost on: a node for each function
// below each of its callers. Node 0 is the root, which is no function.
type tree struct {
	names    []string
	byName   map[string]int32
	nodes    []node
	children map[node]int32
	frames   []symbols.Frame
	cut      uint64 // events whose innermost calls have no node, since there are too many
}

type node struct{ parent, name int32 }

// maxNodes bounds the tree.
const maxNodes = 1 << 17

func (t *tree) init() {
	t.byName, t.children = map[string]int32{}, map[node]int32{}
	t.nodes = []node{{-1, t.name("all")}}
}

// add returns the node of a stack's innermost call.
func (t *tree) add(s *event.Stack) int32 {
	if s == nil {
		return 0
	}
	at := int32(0)
	t.frames = s.AppendMarked(t.frames[:0])
	for i := len(t.frames) - 1; i >= 0; i-- {
		if len(t.nodes) >= maxNodes && !t.has(at, &t.frames[i]) {
			t.cut++
			break
		}
		n := node{at, t.name(t.frames[i].Name())}
		child, ok := t.children[n]
		if !ok {
			child = int32(len(t.nodes))
			t.nodes, t.children[n] = append(t.nodes, n), child
		}
		at = child
	}
	return at
}

// has reports whether there is a node of a function below another node.
func (t *tree) has(at int32, f *symbols.Frame) bool {
	name, ok := t.byName[f.Name()]
	if ok {
		_, ok = t.children[node{at, name}]
	}
	return ok
}

func (t *tree) name(s string) int32 {
	i, ok := t.byName[s]
	if !ok {
		i = int32(len(t.names))
		t.names, t.byName[s] = append(t.names, s), i
	}
	return i
}
