package elfgen

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	buildIDSize     = 20 // as ld writes; perf accepts no longer one (BUILD_ID_SIZE)
	buildIDNoteSize = 12 + 4 + buildIDSize
	ntGNUBuildID    = 3 // NT_GNU_BUILD_ID
)

// writeBuildID writes .note.gnu.build-id. The hash is taken while its own
// bytes are still zero.
func (im *Image) writeBuildID() {
	sum := sha256.Sum256(im.buf)
	w := writer{im.enc, im.Contents(im.made.buildID)}
	w.u32(4)
	w.u32(buildIDSize)
	w.u32(ntGNUBuildID)
	w.bytes([]byte("GNU\x00"))
	w.bytes(sum[:buildIDSize])
}

// BuildID returns the build-id in hexadecimal, once Finish has been called.
func (im *Image) BuildID() string {
	return hex.EncodeToString(im.Contents(im.made.buildID)[16:])
}
