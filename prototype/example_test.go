package prototype_test

import (
	"fmt"
	"log"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
)

// Lookup names the arguments of a probe by their number, sizes and signs.
func ExampleTable_Lookup() {
	table := prototype.Known()
	for _, args := range []string{"8@%rdi -4@%esi 8@%rdx 1@%cl", "8@%rdi"} {
		parsed := notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, args)
		fmt.Println(table.Lookup("hotspot", "class__loaded", parsed, notes.ELFCLASS64))
	}
	// Output:
	// hotspot:class__loaded(char *name[name_len], int name_len, void *loader, bool shared)
	// <nil>
}

// Parse reads the lines of a user's own file.
func ExampleParse() {
	mine, err := prototype.Parse("mine.probes", []byte(`
enum Cache { MISS, HIT }
mine:lookup(char *key[len], int len, Cache result, long took ns)
`))
	if err != nil {
		log.Fatal(err) // with file and line
	}
	table := prototype.Known().With(mine)
	for _, p := range table.Of("mine", "lookup") {
		for i := range p.Params {
			fmt.Println(p.Declare(i))
		}
	}
	// Output:
	// char *key[len]
	// int len
	// Cache result
	// long took ns
}
