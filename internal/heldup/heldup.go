// Package heldup reports calls that the kernel holds up, to whoever has asked for it by a context.
package heldup

import (
	"context"
	"time"
)

// after is how long a call may take.
const after = 2 * time.Second

type key struct{}

// With returns a context by which say is called with what takes long.
func With(ctx context.Context, say func(what string)) context.Context {
	return context.WithValue(ctx, key{}, say)
}

// Watch reports what, unless the function that it returns is called soon.
func Watch(ctx context.Context, what string) (done func()) {
	say, ok := ctx.Value(key{}).(func(string))
	if !ok {
		return func() {}
	}
	late := time.AfterFunc(after, func() { say(what) })
	return func() { late.Stop() }
}
