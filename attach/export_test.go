package attach

import "github.com/go-usdt/usdt/attach/internal/kernel"

// TellsNestedPIDs reports whether the PIDs of processes in a namespace within this
// process's are known.
func TellsNestedPIDs() bool { return kernel.OwnPIDNamespace().TellsNested() }

// SiteNumbers returns how many numbers of sites a session has had at a time.
func SiteNumbers(s *Session) int { return len(s.sites.Load().probes) }
