package sys

import (
	"sync"

	"golang.org/x/sys/unix"
)

// atSecure is AT_SECURE of include/uapi/linux/auxvec.h.
const atSecure = 23

// secure is what Privileged has found out.
var secure struct {
	sync.Once
	bool
}

// Privileged reports whether this process gained privileges when it was
// executed, so that its environment is not to be trusted.
func Privileged() bool {
	secure.Do(func() {
		auxv, err := unix.Auxv()
		secure.bool = err != nil
		for _, e := range auxv {
			if e[0] == atSecure {
				secure.bool = e[1] != 0
			}
		}
	})
	return secure.bool
}
