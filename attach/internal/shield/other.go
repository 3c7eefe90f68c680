//go:build !amd64 && !arm64

package shield

import "golang.org/x/sys/unix"

func spawn(trap, a1, a2, a3, a4, a5 uintptr, out *outcome) (pid int, err error) {
	return 0, unix.ENOSYS
}
