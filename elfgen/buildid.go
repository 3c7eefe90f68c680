package elfgen

import "encoding/hex"

const (
	buildIDSize     = 16 // as ld --build-id=md5 writes; perf accepts up to 20 (BUILD_ID_SIZE)
	buildIDNoteSize = 12 + 4 + buildIDSize
	ntGNUBuildID    = 3 // NT_GNU_BUILD_ID
)

// writeBuildID writes .note.gnu.build-id: XXH64 of the file with the seeds 0 and 1,
// taken while the build-id's own bytes are still zero. The build-id distinguishes
// files and guards nothing, since anybody who makes a file can write any build-id
// there. (The packages behind crypto/sha256 would add 250 kB to each service.)
func (im *Image) writeBuildID() {
	w := writer{im.enc, im.Contents(im.made.buildID)}
	a, b := xxh64(0, im.buf), xxh64(1, im.buf)
	w.u32(4)
	w.u32(buildIDSize)
	w.u32(ntGNUBuildID)
	w.bytes([]byte("GNU\x00"))
	w.u64(a)
	w.u64(b)
}

// BuildID returns the build-id in hexadecimal, once Finish has been called.
func (im *Image) BuildID() string {
	return hex.EncodeToString(im.Contents(im.made.buildID)[16:])
}
