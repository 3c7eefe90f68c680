//go:build linux && (amd64 || arm64)

package provider_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/go-usdt/usdt/provider"
)

// A program declares its probes, publishes them and fires. Watch it with
//
//	sdttrace -p PID 'store:*'
//	bpftrace -p PID -e 'usdt:*:store:order { printf("%d %s\n", arg0, str(arg1)); }'
func Example() {
	store := provider.New("store", nil)
	order := provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	if err := store.Load(); err != nil {
		fmt.Println(err) // the program works without its probes
	}
	defer store.Close()

	order.Fire(2, "Ada")
	// Output:
}

// Load says what is wrong with declarations, and where they are. The other probes
// are published all the same.
func ExampleProvider_Load() {
	store := provider.New("store", nil)
	order := provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	provider.NewProbe1[uint32](store, "check-out", "items")
	provider.NewProbe2[uint32, uint32](store, "refund", "items", "items")
	err := store.Load()
	fmt.Println(regexp.MustCompile(`\S*/`).ReplaceAllString(err.Error(), ""))
	defer store.Close()
	order.Fire(2, "Ada")
	// Output:
	// declare probe store:check-out at example_test.go:35: probe name "check-out" is not a C identifier (letters, digits and _, no digit first)
	// declare probe store:refund at example_test.go:36: argument name "items" is used twice
}

// Errors, and values with a method String, become text when somebody watches, and not
// before.
func ExampleText() {
	orders := provider.New("orders", nil)
	done := provider.NewProbe2[uint64, provider.Text](orders, "done", "id", "err")
	if err := orders.Load(); err != nil {
		fmt.Println(err)
	}
	defer orders.Close()

	var err error = fs.ErrNotExist // of the order
	done.Fire(7, provider.Error(err))
	// Output:
}

// A record is a probe whose arguments are the fields of a struct. It is not
// copied: fill it only if somebody is there to see it.
func ExampleNewStructProbe() {
	type address struct {
		Host string
		Port uint16
	}
	type request struct {
		ID      uint64 `usdt:"id"`
		Path    string `usdt:"path"`
		Peer    address
		Cookies []string `usdt:"-"` // nobody's business
	}
	web := provider.New("web", nil)
	done := provider.NewStructProbe[request](web, "request_done")
	if err := web.Load(); err != nil {
		fmt.Println(err)
	}
	defer web.Close()

	if done.Enabled() {
		done.Fire(&request{ID: 7, Path: "/index.html", Peer: address{"::1", 8080}})
	}
	// Output:
}

// FireFunc calls its function only if somebody is there to see what it returns.
func ExampleProbe2_FireFunc() {
	store := provider.New("store", nil)
	flushed := provider.NewProbe2[int, string](store, "flushed", "items", "keys")
	batch := []string{"a", "b"} // stored elsewhere
	flushed.FireFunc(func() (int, string) { return len(batch), strings.Join(batch, ",") })
	// Output:
}

// Probes of a group share a semaphore: one look reports whether what all of them need
// is worth computing.
func ExampleProvider_Group() {
	cache := provider.New("cache", nil)
	lookups := cache.Group("lookups")
	hit := provider.NewProbe1[string](lookups, "hit", "key")
	miss := provider.NewProbe2[string, uint64](lookups, "miss", "key", "hash")
	if err := cache.Load(); err != nil {
		fmt.Println(err)
	}
	defer cache.Close()

	key, found := [2]string{"user", "17"}, false
	if lookups.Enabled() {
		name := key[0] + "/" + key[1]
		if found {
			hit.Fire(name)
		} else {
			miss.Fire(name, 0xcbf29ce484222325)
		}
	}
	// Output:
}
