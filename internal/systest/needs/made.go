package needs

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// made has the contents of the files that compilers have made in this process, by what made
// them: many tests of a package ask for the same program.
var made sync.Map

// once has compile make the file out, or writes the file that it made for the same key before. Each
// test gets a file of its own, which it may change. If compile leaves other files beside out, it is
// called each time.
func once(t testing.TB, key, out string, compile func()) {
	t.Helper()
	if data, ok := made.Load(key); ok {
		// A child that inherits the descriptor would keep the program from being executed.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if err := os.WriteFile(out, data.([]byte), 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	compile()
	beside, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(beside) > 1 {
		return
	}
	if data, err := os.ReadFile(out); err == nil {
		made.Store(key, data)
	}
}
