//go:build !cgo || !usdt_dlopen

package sys

import (
	"errors"
	"fmt"
)

// Library exists only with cgo and the build tag usdt_dlopen.
type Library struct{}

// Dlopen always fails in this build.
func Dlopen(string) (*Library, error) {
	return nil, fmt.Errorf("dlopen needs cgo and the build tag usdt_dlopen: %w", errors.ErrUnsupported)
}

func (*Library) Address(uint64) uintptr { return 0 }

func (*Library) Counter(uint64) *uint32 { return nil }
