//go:build linux && (amd64 || arm64)

package reader_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// Open reads the probes of a file and the arguments that they pass.
func ExampleOpen() {
	path, remove := storeObject() // programs and libraries have probes as well
	defer remove()

	f, err := reader.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err != nil {
			log.Print(err) // the others follow
			continue
		}
		fmt.Printf("%s:%s\n", p.Provider, p.Name)
		for _, a := range p.Arguments() { // as the note has them
			fmt.Println("\tbytes:", a.Size, "signed:", a.Signed)
		}
		if p.Type != nil { // as programs made with this module describe them
			for _, field := range p.Type.Fields {
				fmt.Printf("\t%s;\n", field.Declare())
			}
		}
	}
	// Output:
	// store:order
	// 	bytes: 4 signed: false
	// 	bytes: 8 signed: false
	// 	unsigned int items;
	// 	const char *customer;
}

// OpenProcess reads the probes that a process has mapped. Probe.SemaphoreValue
// returns whether somebody watches one.
func ExampleOpenProcess() {
	// Usually the process is another one.
	store := provider.New("store", nil)
	provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	process, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		log.Fatal(err)
	}
	defer process.Close()
	for p, err := range process.Probes() {
		if err != nil {
			log.Print(err)
			continue
		}
		if p.Provider == "store" {
			fmt.Printf("%s:%s in %s, at an address: %v\n", p.Provider, p.Name, p.Path, p.Live.Address != 0)
		}
	}
	// Output: store:order in /memfd:usdt:store, at an address: true
}

// storeObject makes a file with a probe store:order.
func storeObject() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "objects")
	if err != nil {
		log.Fatal(err)
	}
	store := provider.New("store", &provider.Options{Backing: provider.BackingFile, Dir: dir})
	provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.so"))
	if err != nil || len(files) != 1 {
		log.Fatal(files, err)
	}
	return files[0], func() {
		store.Close()
		os.RemoveAll(dir)
	}
}
