package maplog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"golang.org/x/sys/unix"
)

// Sizes and places follow include/uapi/linux/perf_event.h, enum perf_event_type.
const (
	headerSize = 8
	timeSize   = 8 // of struct sample_id, at the end of each record

	miscExec    = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
	miscBuildID = 1 << 14 // PERF_RECORD_MISC_MMAP_BUILD_ID
)

// recordSize returns the size of the record that begins with header.
func recordSize(header []byte) int { return int(binary.NativeEndian.Uint16(header[6:])) }

// happening is something that changed what a process has mapped.
type happening struct {
	what   uint32 // PERF_RECORD_MMAP2, PERF_RECORD_COMM of a program that is executed, PERF_RECORD_FORK, PERF_RECORD_LOST
	at     uint64 // in nanoseconds of CLOCK_MONOTONIC
	pid    int
	parent int // of a fork
	mapped mapping
	lost   uint64 // records, by PERF_RECORD_LOST, which has no process
}

// about reports whether a record is about one of the processes, or about lost records. It reads no
// more than that, since most records of a machine are others'.
func about(rec []byte, only map[int]bool) bool {
	return only == nil || len(rec) < headerSize+4 || binary.NativeEndian.Uint32(rec) == unix.PERF_RECORD_LOST ||
		only[int(int32(binary.NativeEndian.Uint32(rec[headerSize:])))]
}

// parse returns what a record says; ok is false if that changes nothing, or is cut off. buildIDs says
// that the ring has been opened for them. The record's own mark for them may be that of another
// event: perf_event_mmap_output (kernel/events/core.c, Linux 5.12 to 6.18 at least) leaves it in what
// it writes next.
func parse(rec []byte, buildIDs bool) (h happening, ok bool) {
	if len(rec) < headerSize+8+timeSize {
		return h, false
	}
	misc := binary.NativeEndian.Uint16(rec[4:])
	body, end := rec[headerSize:], len(rec)-headerSize-timeSize
	h = happening{what: binary.NativeEndian.Uint32(rec), at: binary.NativeEndian.Uint64(body[end:])}
	body = body[:end]
	if h.what == unix.PERF_RECORD_LOST {
		if len(body) >= 16 {
			h.lost = binary.NativeEndian.Uint64(body[8:]) // after the event's number
		}
		return h, h.lost > 0
	}
	h.pid = int(int32(binary.NativeEndian.Uint32(body)))
	switch h.what {
	case unix.PERF_RECORD_FORK:
		h.parent = int(int32(binary.NativeEndian.Uint32(body[4:])))
		return h, h.pid > 0 && h.pid != h.parent // and not a thread
	case unix.PERF_RECORD_COMM:
		return h, h.pid > 0 && misc&miscExec != 0 // not another name
	case unix.PERF_RECORD_MMAP2:
		return h, h.pid > 0 && h.mapped.parse(body, buildIDs && misc&miscBuildID != 0)
	}
	return h, false
}

// maxPath is the length of the longest path.
const maxPath = unix.PathMax

// parse reads the body of a PERF_RECORD_MMAP2.
func (m *mapping) parse(body []byte, buildID bool) bool {
	const path = 64
	if len(body) <= path {
		return false
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(body[at:]) }
	m.start, m.end, m.offset = word(8), word(8)+word(16), word(24)
	f := file{}
	if buildID {
		size := min(int(body[32]), 20)
		f.buildID = hex.EncodeToString(body[36 : 36+size])
	} else {
		f.device, f.inode, f.generation = word(32), word(40), word(48)
	}
	name, _, _ := bytes.Cut(body[path:], []byte{0})
	if len(name) > maxPath {
		return false
	}
	f.path = strings.Clone(string(name))
	m.file = f
	return m.end > m.start
}
