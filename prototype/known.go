package prototype

import (
	"embed"
	"sync"
)

// Each file has the probes of the provider that it is named for.
//
//go:embed known/*.probes
var files embed.FS

// Known returns the table of the providers that this package comes with. Their files
// are read when the first probe of the provider is looked up.
func Known() *Table { return &Table{provider: knownProvider} }

// Providers returns the providers of [Known].
func Providers() (names []string) {
	entries, err := files.ReadDir("known")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, e := range entries {
		names = append(names, e.Name()[:len(e.Name())-len(suffix)])
	}
	return names
}

const suffix = ".probes"

// providers are the names of files. They are not read by an initializer, with which
// every program would contain the files.
var providers struct {
	once sync.Once
	of   map[string]bool
}

func isKnown(provider string) bool {
	providers.once.Do(func() {
		providers.of = map[string]bool{}
		for _, name := range Providers() {
			providers.of[name] = true
		}
	})
	return providers.of[provider]
}

// parsed has the tables of the providers that were looked up.
var parsed sync.Map // of string to *Table

// knownProvider returns what is known of a provider.
func knownProvider(name string) *Table {
	if t, ok := parsed.Load(name); ok {
		return t.(*Table)
	}
	if !isKnown(name) {
		return nil // and no word of it is kept: programs choose the names of providers
	}
	data, err := files.ReadFile("known/" + name + suffix)
	if err != nil {
		panic(err)
	}
	t, err := Parse(name+suffix, data)
	if err != nil {
		panic(err) // a test reads all files
	}
	parsed.Store(name, t)
	return t
}
