package procfs

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCapabilityNames(t *testing.T) {
	for _, test := range []struct {
		set  uint64
		want string
	}{
		{0, ""},
		{1 << unix.CAP_CHOWN, "CAP_CHOWN"},
		{1 << unix.CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"},
		{1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON, "CAP_PERFMON and CAP_BPF"},
		{1 << unix.CAP_LAST_CAP, "CAP_CHECKPOINT_RESTORE"},
		{1 << 60, "capability 60"},
	} {
		if got := names(test.set); got != test.want {
			t.Errorf("%#x is %q, want %q", test.set, got, test.want)
		}
	}
}
