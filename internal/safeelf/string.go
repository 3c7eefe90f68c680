package safeelf

import (
	"bytes"
	"io"
)

// String returns the string at off in r, up to its NUL byte. ok is false if there is
// no NUL byte within limit bytes.
func String(r io.ReaderAt, off uint64, limit int) (s string, ok bool) {
	if off >= 1<<62 {
		return "", false
	}
	for buf := make([]byte, min(128, limit+1)); ; buf = make([]byte, min(8*len(buf), limit+1)) {
		n, err := r.ReadAt(buf, int64(off))
		if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
			return string(buf[:i]), true
		}
		if err != nil || len(buf) > limit {
			return "", false
		}
	}
}
