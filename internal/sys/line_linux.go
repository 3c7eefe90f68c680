package sys

import "golang.org/x/sys/unix"

// ReadLine returns the first line of a small file, without its end, or nothing if the
// file cannot be read. (os.ReadFile leads to the formatting of times and dates, which
// would weigh more than this module.)
func ReadLine(path string) string {
	line, _ := readLine(path)
	return line
}

func readLine(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [64]byte
	n, err := unix.Read(fd, buf[:])
	n = max(n, 0)
	for i := range n {
		if buf[i] == '\n' {
			n = i
			break
		}
	}
	return string(buf[:n]), err
}
