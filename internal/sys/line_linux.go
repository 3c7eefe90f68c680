package sys

import "golang.org/x/sys/unix"

// ReadLine returns the first line of a small file, without its end, or nothing if the
// file cannot be read. (os.ReadFile leads to the formatting of times and dates, which
// would weigh more than this module.)
func ReadLine(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var buf [64]byte
	n, _ := unix.Read(fd, buf[:])
	unix.Close(fd)
	for i := range max(n, 0) {
		if buf[i] == '\n' {
			n = i
			break
		}
	}
	return string(buf[:max(n, 0)])
}
