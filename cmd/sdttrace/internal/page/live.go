package page

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/printable"
)

// Live returns a page without contents, which fetches them from the server that it comes
// from, and its content security policy, which that server sends with it.
func Live() (html []byte, policy string, err error) {
	script, err := program("tree", "live")
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	policy = policyOf(script, "connect-src 'self'; ")
	err = writeDocument(&out, script, policy, func(*bufio.Writer) {})
	return out.Bytes(), policy, err
}

// Position is what a browser has of a page that grows.
type Position struct {
	Blocks uint64 // full blocks, including those dropped from the page
	Tag    string // of the last update; "" if there was none
}

// Update is what is new on a page. The blocks that it refers to do not change, so that
// it can be written while the page grows.
type Update struct {
	head   []byte
	blocks []sealed
	tail   []byte
}

// updateHead stands in front of an update's blocks: the full ones, which are compressed, and
// the last one, which is not.
type updateHead struct {
	Tag      string
	Ended    bool
	First    uint64 // the number of the first full block that is kept
	Blocks   []int  // sizes of the full blocks that follow
	Tail     int    // size of the last block, which is not compressed; 0 if it is empty
	Contents *contents
}

// Update returns what is new since a position, nil if nothing is. All counts and charts are
// in it. So are the events in full blocks that the browser does not have, and in the block
// that grows. Adding an event waits while an update is made, but not while it is written.
func (p *Page) Update(s Summary, ended bool, since Position) (*Update, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tag := fmt.Sprintf("%d-%d-%d-%t", p.changes, s.Lost, s.Filtered, ended)
	if tag == since.Tag {
		return nil, nil
	}
	h := updateHead{Tag: tag, Ended: ended, First: p.dropped, Contents: p.contents(s)}
	u := &Update{}
	if have := max(since.Blocks, p.dropped) - p.dropped; have < uint64(len(p.blocks)) {
		u.blocks = append(u.blocks, p.blocks[have:]...)
	}
	for _, b := range u.blocks {
		h.Blocks = append(h.Blocks, len(b.data))
	}
	if p.current.rows() > 0 {
		u.tail = p.current.encode(p.probes)
	}
	h.Tail = len(u.tail)
	h.Contents.Kept += uint64(p.current.rows())
	var err error
	u.head, err = printable.MarshalShown(h)
	return u, err
}

// Write writes the length of the head, the head as JSON, and the blocks.
func (u *Update) Write(w io.Writer) error {
	parts := [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(u.head))), u.head}
	for _, b := range u.blocks {
		parts = append(parts, b.data)
	}
	for _, b := range append(parts, u.tail) {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
