package providertest

import "runtime/pprof"

// GoroutineLabel returns a label of the goroutine that calls it.
func GoroutineLabel(key string) string {
	value, _ := pprof.Label(here(), key)
	return value
}
