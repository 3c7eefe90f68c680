package symbols

import (
	"container/list"
	"sync"
)

// cache keeps what has been read of files, up to a number of bytes. It evicts the least recently
// used contents first.
type cache struct {
	mu    sync.Mutex
	limit int64
	files int // the largest number of open objects
	used  int64
	open  int
	items map[cacheKey]*item
	order list.List // of *item, the last used first

	closing []*object // to be closed by unlock
}

// cacheKey is an object, or a part of one.
type cacheKey struct {
	object objectKey
	part   int32 // the number of a unit of debugging information, or one of the below
}

const (
	whole  = -1
	unwind = -2 // the tables for unwinding
)

// item is something in the cache. It may be in use when it leaves that.
type item struct {
	key   cacheKey
	place *list.Element // nil once it has left the cache
	size  int64
	uses  int
	parts []*item // of an object

	load  sync.Once
	value any
	err   error
}

func newCache(limit int64, files int) *cache {
	return &cache{limit: limit, files: files, items: map[cacheKey]*item{}}
}

// get returns the item with the key, which the caller must release. If the cache does
// not have it, load makes its value and says how many bytes of memory that takes.
// object is the object of which it is a part, nil if it is one itself.
func (c *cache) get(key cacheKey, object *item, load func(it *item) (value any, size int64, err error)) *item {
	c.mu.Lock()
	it := c.items[key]
	if it == nil {
		it = &item{key: key}
		if object == nil || object.place != nil {
			c.items[key], it.place = it, c.order.PushFront(it)
			if object != nil {
				object.parts = append(object.parts, it)
			} else {
				c.open++
			}
		}
	} else if c.order.Front() != it.place {
		c.order.MoveToFront(it.place)
	}
	it.uses++
	c.mu.Unlock()
	it.load.Do(func() {
		value, size, err := load(it)
		it.value, it.err = value, err
		if err != nil {
			c.forget(it) // the next one tries again
			return
		}
		c.grow(it, size+itemSize)
	})
	return it
}

// itemSize is what an item takes by itself.
const itemSize = 512

// grow says that the item takes more memory than before.
func (c *cache) grow(it *item, size int64) {
	c.mu.Lock()
	defer c.unlock()
	if it.place == nil {
		return
	}
	it.size += size
	c.used += size
	for c.used > c.limit || c.open > c.files {
		c.drop(c.order.Back().Value.(*item))
	}
}

// forget drops the item.
func (c *cache) forget(it *item) {
	c.mu.Lock()
	defer c.unlock()
	c.drop(it)
}

// drop takes an item, and all its parts, out of the cache.
func (c *cache) drop(it *item) {
	if it.place == nil {
		return
	}
	c.order.Remove(it.place)
	it.place = nil
	delete(c.items, it.key)
	c.used -= it.size
	if it.key.part == whole {
		c.open--
	}
	for _, part := range it.parts {
		c.drop(part)
	}
	it.parts = nil
	c.finish(it)
}

// release says that the caller does not use the item any more.
func (c *cache) release(it *item) {
	c.mu.Lock()
	defer c.unlock()
	it.uses--
	c.finish(it)
}

// finish closes the files of an item that is not in the cache and not in use.
func (c *cache) finish(it *item) {
	if it.place != nil || it.uses > 0 {
		return // it may yet be loaded
	}
	if o, ok := it.value.(*object); ok {
		c.closing = append(c.closing, o)
	}
}

// unlock unlocks mu, and then closes files: a file system may not answer, and others need the
// cache meanwhile.
func (c *cache) unlock() {
	closing := c.closing
	c.closing = nil
	c.mu.Unlock()
	for _, o := range closing {
		o.close()
	}
}

// clear drops everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.unlock()
	for c.order.Len() > 0 {
		c.drop(c.order.Back().Value.(*item))
	}
}
