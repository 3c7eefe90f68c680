package collection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
)

// loadError explains why the kernel did not load a collection. onTaskStack says
// that programs were kept from having a private stack.
func loadError(err error, spec *ebpf.CollectionSpec, onTaskStack bool) error {
	var verifier *ebpf.VerifierError
	if !errors.As(err, &verifier) || len(verifier.Log) == 0 {
		return privilege.Explain("load collection", err)
	}
	// The error is EACCES, but no privilege is missing.
	name := refusedProgram(err, spec)
	if name == "" {
		return fmt.Errorf("load collection: %w", err) // the log is about types
	}
	advice := ""
	if onTaskStack && kernel.CombinedStack(err) {
		advice = "; its functions have room in stacks per CPU only, which Options.PrivateStack leaves to them"
	}
	return &verdict{
		message: fmt.Sprintf("load collection: the kernel's verifier refuses program %s in section %s: %s%s", name, spec.Programs[name].SectionName, lastWords(verifier.Log), advice),
		err:     err,
	}
}

// verdict shows the end of the verifier's log; the error that it wraps has the
// whole log.
type verdict struct {
	message string
	err     error
}

func (v *verdict) Error() string { return v.message }
func (v *verdict) Unwrap() error { return v.err }

// refusedProgram returns the name of the program that was not loaded, if the
// loader gives it.
func refusedProgram(err error, spec *ebpf.CollectionSpec) (name string) {
	for n := range spec.Programs {
		if strings.Contains(err.Error(), "program "+n+": ") && len(n) > len(name) {
			name = n
		}
	}
	return name
}

// lastLines is how many lines of a verifier's log are shown: what is wrong,
// where, and what was before.
const lastLines = 4

// lastWords returns the end of a verifier's log without its statistics.
func lastWords(log []string) string {
	var last []string
	for _, line := range log {
		line = strings.Join(strings.Fields(line), " ")
		statistics := false
		for _, prefix := range []string{"processed ", "verification time ", "stack depth "} {
			statistics = statistics || strings.HasPrefix(line, prefix)
		}
		if line != "" && !statistics {
			last = append(last, line)
		}
	}
	return strings.Join(last[max(0, len(last)-lastLines):], " | ")
}
