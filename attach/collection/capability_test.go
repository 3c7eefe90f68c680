package collection_test

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/unprivileged"
)

// needMore are the tests that TestSuiteUnprivileged leaves out, and why.
var needMore = map[string]string{
	"TestAdopt":                "mounts",
	"TestExamples":             "mounts",
	"TestPinned":               "mounts",
	"TestCloseMeanwhile":       "perf events on uprobes need CAP_SYS_ADMIN",
	"TestManyProcesses":        "perf events on uprobes need CAP_SYS_ADMIN",
	"TestSkeleton":             "traces the kernel, which takes more than the two capabilities",
	"TestKernelSelectors":      "traces the kernel, which takes more than the two capabilities",
	"TestReplacement":          "traces the kernel, which takes more than the two capabilities",
	"TestSections":             "traces the kernel, which takes more than the two capabilities",
	"TestSectionsRefused":      "traces the kernel, which takes more than the two capabilities",
	"TestSessionManyProcesses": "counts runs of programs, which takes CAP_SYS_ADMIN",
	"TestStack":                "looks at machine code, which CAP_SYSLOG may",
	"TestStackTooSmall":        "looks at machine code, which CAP_SYSLOG may",
}

// TestSuiteUnprivileged runs the other tests once more, as nobody with the two
// capabilities that attaching takes. All pass, except those of perf events.
func TestSuiteUnprivileged(t *testing.T) {
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "without uprobe_multi: %v", err)
	}
	unprivileged.Suite(t, needMore, 15)
}
