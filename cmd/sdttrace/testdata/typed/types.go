// Functions of Go whose arguments and results are of all kinds. The test has their values.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

type conn struct {
	port uint16
	load float64
}

type request struct {
	path string
	conn *conn
	own  conn
	last bool
}

type shop struct {
	id   int32
	name string
}

var errClosed = errors.New("closed")

//go:noinline
func numbers(a int8, b uint8, c int16, d uint16, e int32, f uint32, g int64, h uint64, i int, j bool, k uint8) int16 {
	sink += int(a) + int(b) + int(c) + int(d) + int(e) + int(f) + int(g) + int(h) + i + int(k)
	return int16(a) + c
}

//go:noinline
func texts(s string, b []byte, n int, f float64, list []int) (name string, err error) {
	sink += len(s) + len(b) + n + int(f) + len(list)
	return s[1:], errClosed
}

//go:noinline
func structs(c conn, arr [2]int, one [1]string, v any, e error) (int32, string, bool) {
	sink += int(c.port) + arr[1] + len(one[0])
	return -8, "ok", e == nil && v != nil
}

//go:noinline
func (s *shop) sell(r *request, _ int, n int) (total int) {
	sink += n + len(r.path)
	return int(s.id) * n
}

//go:noinline
func (s shop) close(last bool) error {
	sink += int(s.id)
	return nil
}

//go:noinline
func largest[T int | int8](a, b T) T {
	sink += int(a)
	return max(a, b)
}

type level int8

const (
	Low  level = -1
	High level = 5
)

//go:noinline
func levels(l level, n int) level {
	sink += int(l) + n
	return Low
}

type refused struct{ code int }

func (*refused) Error() string { return "refused" }

//go:noinline
func fails(err, none error, what, nothing any, in fmt.Stringer) (error, any) {
	sink++
	return none, err
}

var lock sync.Mutex

//go:noinline
func deferred(n int, name string) (string, error) {
	lock.Lock()
	defer lock.Unlock()
	if n > 3 {
		return name, errClosed
	}
	return "", nil
}

var sink int

//go:noinline
func pointed(name *string, n *int) int { return len(*name) + *n }

func main() {
	path, seven := "/pointed", 7
	pointed(&path, &seven)
	numbers(-1, 200, -300, 60000, -70000, 4000000000, -5000000000, 6000000000, 9, true, 77)
	texts("hello", []byte("bytes"), 3, 0.5, []int{1, 2})
	structs(conn{443, 1.5}, [2]int{5, 6}, [1]string{"single"}, 7, nil)
	s := &shop{42, "corner"}
	s.sell(&request{"/index", &conn{443, 1.5}, conn{80, 2.5}, true}, 5, 3)
	s.close(true)
	largest[int8](-3, 4)
	levels(High, 2)
	deferred(4, "late")
	fails(&refused{1}, nil, conn{port: 443}, nil, nil)
	fmt.Fprintln(os.Stderr, sink)
}
