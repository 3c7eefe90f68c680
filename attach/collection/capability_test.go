package collection_test

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/unprivileged"
)

// unprivilegedTests together attach each kind of program to each kind of site.
var unprivilegedTests = []string{
	"TestAwaitFile", "TestCookieOf", "TestFunctions", "TestJVM", "TestLoad", "TestManySpecs", "TestNews", "TestOwnSlot", "TestRescan",
	"TestSites", "TestSpecOfOtherLoader", "TestSteps", "TestStranded", "TestWritten",
}

// TestSuiteUnprivileged runs tests once more, as nobody with the two capabilities that attaching
// takes. All of them pass.
func TestSuiteUnprivileged(t *testing.T) {
	if err := features.HaveBPFLinkUprobeMulti(); errors.Is(err, ebpf.ErrNotSupported) {
		needs.Skip(t, "without uprobe_multi: %v", err)
	}
	unprivileged.Suite(t, unprivilegedTests)
}
