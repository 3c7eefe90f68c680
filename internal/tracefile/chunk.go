package tracefile

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magic      = "usdttrac"
	version    = 1
	headerSize = 16 // magic, version, zero
	chunkSize  = 16 // tag, length, checksum of the payload, checksum of these

	// maxChunk is the largest payload, and maxRecord the largest record in one.
	maxChunk  = 4 << 20
	maxRecord = 1 << 20
)

// tag says what a chunk holds. Readers skip chunks that they do not know.
type tag [4]byte

var (
	tagInfo  = tag([]byte("info")) // JSON: Info
	tagSite  = tag([]byte("site")) // JSON: Site
	tagGroup = tag([]byte("cgrp")) // JSON: Group
	tagTime  = tag([]byte("time")) // 8 bytes: from the clock of the records to the wall clock
	tagCalls = tag([]byte("call")) // what the stacks of records that follow are
	tagData  = tag([]byte("data")) // records, each behind its length
	tagCount = tag([]byte("stat")) // JSON: Counts
	tagEnd   = tag([]byte("done")) // nothing; nothing follows
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// putHeader writes the header of a chunk in front of its payload.
func putHeader(header []byte, t tag, payload []byte) {
	copy(header, t[:])
	binary.LittleEndian.PutUint32(header[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[8:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(header[12:], crc32.Checksum(header[:12], castagnoli))
}

// chunk is where a chunk is.
type chunk struct {
	tag    tag
	at     int64 // of its payload
	length int
	sum    uint32
}

// parseHeader returns the chunk whose header is at an offset of the file; ok is false if
// that is not one.
func parseHeader(header []byte, at int64) (c chunk, ok bool) {
	c = chunk{tag: tag(header), at: at + chunkSize, length: int(binary.LittleEndian.Uint32(header[4:])), sum: binary.LittleEndian.Uint32(header[8:])}
	return c, crc32.Checksum(header[:12], castagnoli) == binary.LittleEndian.Uint32(header[12:]) && c.length <= maxChunk
}
