package sys

import "sync"

// Mutex is a sync.Mutex. Inlining that into each of its users would add 4 kB to each
// service that declares probes.
type Mutex struct {
	_     [0]func() // without a function that compares two
	mutex sync.Mutex
}

// Lock locks m.
//
//go:noinline
func (m *Mutex) Lock() { m.mutex.Lock() }

// Unlock unlocks m.
//
//go:noinline
func (m *Mutex) Unlock() { m.mutex.Unlock() }

// Number returns the decimal number with which s begins, 0 if it begins with none, and
// what follows. The errors of package strconv would add 5 kB to each service that
// declares probes.
//
//go:noinline
func Number(s string) (n int, rest string) {
	i := 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		n = 10*n + int(s[i]-'0')
	}
	return n, s[i:]
}
