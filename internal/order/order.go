// Package order has an order of values: of the keys of groups, and of their quantiles.
package order

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// Args compares values: missing ones first, numbers by size, text by its
// bytes.
func Args(x, y event.Arg) int {
	switch a := x.Value.(type) {
	case uint64:
		switch b := y.Value.(type) {
		case uint64:
			return cmp.Compare(a, b)
		case int64:
			return -compareSigns(b, a)
		}
	case int64:
		switch b := y.Value.(type) {
		case int64:
			return cmp.Compare(a, b)
		case uint64:
			return compareSigns(a, b)
		}
	case float64:
		if b, ok := y.Value.(float64); ok {
			return cmp.Compare(a, b)
		}
	case time.Duration:
		if b, ok := y.Value.(time.Duration); ok {
			return cmp.Compare(a, b)
		}
	case time.Time:
		if b, ok := y.Value.(time.Time); ok {
			return a.Compare(b)
		}
	case netip.Addr:
		if b, ok := y.Value.(netip.Addr); ok {
			return a.Compare(b)
		}
	case string:
		if b, ok := y.Value.(string); ok {
			return cmp.Compare(a, b)
		}
	case *event.Stack:
		if b, ok := y.Value.(*event.Stack); ok {
			return slices.CompareFunc(a.Frames(), b.Frames(), compareFrames)
		}
	}
	switch a, b := x.Value, y.Value; {
	case a == nil && b == nil:
		return strings.Compare(fmt.Sprint(x.Err), fmt.Sprint(y.Err))
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return strings.Compare(fmt.Sprint(x.Value), fmt.Sprint(y.Value))
}

// compareSigns orders two numbers.
func compareSigns(a int64, b uint64) int {
	if a < 0 {
		return -1
	}
	return cmp.Compare(uint64(a), b)
}

// compareFrames orders frames by what is printed of them.
func compareFrames(a, b symbols.Frame) int {
	return cmp.Or(cmp.Compare(a.Func, b.Func), cmp.Compare(a.Module, b.Module), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Address, b.Address))
}
