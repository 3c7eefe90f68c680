package query

import (
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/fold"
)

// Key is a key of groups or of pairs.
type Key struct {
	*filter.Key
	Fold *fold.Function // of the argument; nil for none
}

// ParseKey parses a key. It wraps ErrAggregation.
func ParseKey(text string) (Key, error) {
	parsed, err := filter.ParseKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%w: key %v", ErrAggregation, err)
	}
	k := Key{Key: parsed}
	if k.Function == "" {
		return k, nil
	}
	if k.Fold = fold.Of(k.Function); k.Fold == nil {
		return k, fmt.Errorf("%w: %s is no key: want an argument, sql(ARGUMENT), word(ARGUMENT), cxx(ARGUMENT), path[:16], or an expression such as size/4096", ErrAggregation, text)
	}
	return k, nil
}

// NamesOf returns the names in a key, which has been parsed before.
func NamesOf(key string) []string {
	k, err := ParseKey(key)
	if err != nil {
		return nil
	}
	return k.Names()
}

// Stack is the key of groups by the calls that led to the probe. An argument of that name
// comes first.
const Stack = "stack"
