// Command without uses packages fmt, reflect and sync, as about every service does.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sync"
)

func main() {
	var mu sync.Mutex
	mu.Lock()
	var once sync.Once
	once.Do(mu.Unlock)
	var m sync.Map
	m.Store("args", os.Args)
	fmt.Println(reflect.TypeOf(os.Args), fmt.Errorf("%d: %w", len(os.Args), os.ErrNotExist))
	fmt.Fprintf(os.Stderr, "%v\n", reflect.ValueOf(os.Args).Len())
}
