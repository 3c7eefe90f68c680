package provider

import (
	"sync"

	"golang.org/x/sys/unix"
)

// atSecure is AT_SECURE of include/uapi/linux/auxvec.h.
const atSecure = 23

// privileged reports whether this process gained privileges when it was
// executed, so that its environment is not to be trusted.
var privileged = sync.OnceValue(func() bool {
	auxv, err := unix.Auxv()
	if err != nil {
		return true
	}
	for _, e := range auxv {
		if e[0] == atSecure {
			return e[1] != 0
		}
	}
	return false
})
