package link

// Missed returns how many calls of functions of the kernel never reached the program: the kernel was
// already in a probe, or had no memory for one more return. It is 0 for other links, and before Linux
// 6.7, which does not say it. Programs count the calls that they skip themselves.
func (l Link) Missed() uint64 {
	if !l.kernel || l.fd < 0 {
		return 0
	}
	info, err := wordsOf(l.fd)
	if err != nil {
		return 0
	}
	if l.event >= 0 {
		return info[6]
	}
	if l.session {
		return 2 * info[4] // the entry and the return
	}
	return info[4]
}
