//go:build cgo && usdt_dlopen

package sys

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

// Loads path and returns the start of its address space, or NULL and why not.
// dlerror is asked on the same thread that failed.
static void *usdt_dlopen(const char *path, char **err) {
	struct link_map *map;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
		*err = dlerror();
		return NULL;
	}
	return (void *)map->l_addr;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Library is an object that the dynamic linker has loaded. It stays loaded, because
// unloading it would remove its semaphores while goroutines may read them.
type Library struct{ base unsafe.Pointer }

// Dlopen makes the dynamic linker load the object at path, whose addresses must all
// equal its file offsets.
func Dlopen(path string) (*Library, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var why *C.char
	base := C.usdt_dlopen(p, &why)
	if base == nil {
		if why == nil {
			return nil, errors.New("dlopen: no reason given")
		}
		return nil, fmt.Errorf("dlopen: %s", C.GoString(why))
	}
	return &Library{base}, nil
}

// Address returns the address of offset in the object.
func (l *Library) Address(offset uint64) uintptr { return uintptr(l.base) + uintptr(offset) }

// Counter returns the four bytes at offset, a multiple of four.
func (l *Library) Counter(offset uint64) *uint32 {
	// Mapped memory outside Go's heap, which is never unmapped.
	return (*uint32)(unsafe.Add(l.base, offset))
}
