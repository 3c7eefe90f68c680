package discover

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
)

// TestUnreadable checks that the error for a process that protects its memory
// from root does not name a capability that is not missing.
func TestUnreadable(t *testing.T) {
	err := unreadable(7, os.ErrPermission)
	lacks := strings.Contains(err.Error(), "lacks CAP_SYS_PTRACE")
	if has := privilege.Has(unix.CAP_SYS_PTRACE); lacks == has {
		t.Errorf("this process has the capability: %t; got %q", has, err)
	}
}
