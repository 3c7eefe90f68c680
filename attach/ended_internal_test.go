package attach

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// TestStateOf holds that a file which a selector names is not looked at again
// because maps give it another device, as on btrfs.
func TestStateOf(t *testing.T) {
	d, err := newDiscovery([]string{"/proc/self/exe:none:none", "none:none"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.named("/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mapped := procfs.ID{Dev: unix.Mkdev(0, 1<<19), Inode: 1}
	state, known := d.stateOf(mapped, file)
	if !known || !state.named || d.read[mapped] != state {
		t.Errorf("a file that has been named: known %t, state %+v, found by its id in maps %t", known, state, d.read[mapped] == state)
	}

	other, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	mapped.Inode = 2
	state, known = d.stateOf(mapped, other)
	if known || state.named || state.unlinked || state.id != mapped || d.read[mapped] != state {
		t.Errorf("another file: known %t, state %+v", known, state)
	}
	mapped.Inode = 3
	if again, known := d.stateOf(mapped, other); !known || again != state {
		t.Error("the other file by another id is a new one")
	}
}
