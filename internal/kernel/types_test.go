package kernel

import (
	"runtime"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestTypes has goroutines share what is read, and look up members in it at once.
func TestTypes(t *testing.T) {
	types, err := Types()
	if err != nil {
		needs.Skip(t, "the kernel has no BTF: %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			shared, err := Types()
			if err != nil || shared != types {
				t.Errorf("other types, error %v", err)
				return
			}
			if _, err := MemberOffset(shared, "task_struct", "tgid"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	runtime.KeepAlive(types)
}
