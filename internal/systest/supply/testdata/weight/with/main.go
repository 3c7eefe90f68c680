// Command with is command without and three probes.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/go-usdt/usdt/provider"
)

var (
	p = provider.New("weigh", nil)
	a = provider.NewProbe2[uint64, string](p, "start", "id", "path")
	b = provider.NewProbe1[int](p, "done", "n")
	c = provider.NewProbe0(p, "idle")
)

func main() {
	fmt.Println(p.Load())
	defer p.Close()
	a.Fire(1, "x")
	b.Fire(1)
	c.Fire()
	var mu sync.Mutex
	mu.Lock()
	var once sync.Once
	once.Do(mu.Unlock)
	var m sync.Map
	m.Store("args", os.Args)
	fmt.Println(reflect.TypeOf(os.Args), fmt.Errorf("%d: %w", len(os.Args), os.ErrNotExist))
	fmt.Fprintf(os.Stderr, "%v\n", reflect.ValueOf(os.Args).Len())
}
