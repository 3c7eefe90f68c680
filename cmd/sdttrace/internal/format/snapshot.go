package format

import (
	"fmt"
	"strconv"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/printable"
)

// appendSnapshot appends a snapshot as text: a line that says what it is, and its
// events, of which the one that fulfils the condition is marked.
func appendSnapshot(dst []byte, snap *attach.Snapshot, n uint64) []byte {
	dst = fmt.Appendf(dst, "snapshot %d: %s before, %d after", n, printable.Many(uint64(snap.On), "event", "events"), len(snap.Events)-snap.On-1)
	if snap.Skipped > 0 {
		dst = fmt.Appendf(dst, "; %s since the last one", printable.Many(snap.Skipped, "more event fulfils the condition", "more events fulfil the condition"))
	}
	dst = append(dst, '\n')
	for i := range snap.Events {
		mark := "  "
		if i == snap.On {
			mark = "> "
		}
		dst = append(AppendText(append(dst, mark...), &snap.Events[i]), '\n')
	}
	return dst
}

// appendSnapshotJSON appends a snapshot as an object: the events, the index of the one
// that fulfils the condition, and how many others have since the last snapshot.
func appendSnapshotJSON(dst []byte, snap *attach.Snapshot, n uint64) []byte {
	dst = strconv.AppendUint(append(dst, `{"snapshot":`...), n, 10)
	dst = strconv.AppendInt(append(dst, `,"on":`...), int64(snap.On), 10)
	dst = strconv.AppendUint(append(dst, `,"skipped":`...), snap.Skipped, 10)
	dst = append(dst, `,"events":[`...)
	for i := range snap.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = snap.Events[i].AppendJSON(dst)
	}
	return append(dst, "]}\n"...)
}
