package symbols

import (
	"testing"
	"time"
)

// TestCloseBesideOthers checks that the cache is free for others while files are closed, which
// may take long where a file system does not answer.
func TestCloseBesideOthers(t *testing.T) {
	c := newCache(1<<20, 1)
	get := func(id string) *item {
		return c.get(cacheKey{objectKey{buildID: id}, whole}, nil, func(*item) (any, int64, error) { return &object{}, 1, nil })
	}
	slow := get("slow")
	c.release(slow)
	o := slow.value.(*object)
	o.closing.Lock() // as if its files were not closed
	for name, drop := range map[string]func(){
		"clear": c.clear,
		"grow":  func() { c.release(get("one more file than may be open")) },
	} {
		dropped := make(chan struct{})
		go func() {
			defer close(dropped)
			drop()
		}()
		for deadline, gone := time.Now().Add(time.Minute), false; !gone; time.Sleep(time.Millisecond) {
			if c.mu.TryLock() {
				gone = slow.place == nil
				c.mu.Unlock()
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: others wait for the cache while a file is closed", name)
			}
		}
		got := make(chan struct{})
		go func() {
			defer close(got)
			c.release(get("another " + name))
		}()
		select {
		case <-got:
		case <-time.After(time.Minute):
			t.Fatalf("%s: others wait for the cache", name)
		}
		o.closing.Unlock()
		<-dropped
		slow = get("slow")
		c.release(slow)
		o = slow.value.(*object)
		o.closing.Lock()
	}
	o.closing.Unlock()
}
