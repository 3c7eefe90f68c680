package recorder_test

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/recorder"
	"github.com/go-usdt/usdt/internal/record"
)

// TestNewest keeps the newest records, whatever their size, and the table of their sites.
func TestNewest(t *testing.T) {
	const most = 1 << 20
	for _, test := range []struct{ size, tables int }{{40, 1}, {1000, 3}, {200_000, 1}, {2 * most, 1}} {
		n := &recorder.Newest{Most: most}
		tables := make([]*numbering.Table, test.tables)
		for i := range tables {
			tables[i] = &numbering.Table{}
		}
		const added = 50_000
		count := min(added, 64*most/test.size)
		rec := make(record.Record, test.size)
		table := func(i int) *numbering.Table { return tables[i*test.tables/count] }
		for i := range count {
			rec[0], rec[1], rec[test.size-1] = byte(i), byte(i>>8), 1
			n.Add(rec, table(i))
		}
		kept := 0
		for range n.Now() {
			kept++
		}
		if bytes := kept * (test.size + 4); kept == 0 || bytes > most && kept > 1 || test.size < most && bytes < most/2 {
			t.Errorf("%d records of %d bytes are kept in %d", kept, test.size, most)
		}
		i := count - kept
		for rec, of := range n.Now() {
			if int(rec[0])|int(rec[1])<<8 != i&0xffff || len(rec) != test.size || rec[test.size-1] != 1 || of != table(i) {
				t.Fatalf("record %d of %d bytes is number %d of %d bytes, or of another table", i, test.size, int(rec[0])|int(rec[1])<<8, len(rec))
			}
			rec[test.size-1] = 2 // as a writer does
			i++
		}
	}
}
