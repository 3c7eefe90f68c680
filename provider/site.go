package provider

import (
	"runtime"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/notes"
)

// Site is the kind of instruction at a probe site, as everywhere in this module.
type Site = notes.SiteKind

// The sites that a provider can have.
const (
	// SiteAuto is the instruction that the running kernel traces fastest. Where the
	// sysctl kernel.panic_on_warn or kernel.warn_limit is set, it is SiteNop, because
	// the kernel may warn when a process is killed while a longer one is being
	// replaced.
	SiteAuto Site = 0
	// SiteNop is the architecture's plain nop. Every kernel can trace it.
	SiteNop = notes.SiteNop
	// SiteNop5 is the x86-64 nop of five bytes, which Linux 6.18 replaces by a call
	// while it is traced. A process that calls fork (not exec.Command) while it is
	// traced loses the child, and should choose SiteNop.
	SiteNop5 = notes.SiteNop5
	// SiteNop10 is the x86-64 nop of ten bytes, which later kernels replace instead
	// of SiteNop5. Kernels up to 6.18 refuse to trace it.
	SiteNop10 = notes.SiteNop10
)

// siteCode returns the stub for s.
func siteCode(s Site) (stub.Code, error) {
	if s == SiteAuto {
		s = fastestSite()
	}
	c, ok := stub.CodeFor(s)
	if !ok {
		return c, errorf("site %v does not exist on %s: %w", s, runtime.GOARCH, ErrNotSupported)
	}
	return c, nil
}
