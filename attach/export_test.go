package attach

// TellsNestedPIDs reports whether the PIDs of processes in a namespace within this
// process's are known.
func TellsNestedPIDs() bool {
	ns := ownPIDNamespace()
	return ns == nil || ns.nested != nil
}

// SiteNumbers returns how many numbers of sites a session has had at a time.
func SiteNumbers(s *Session) int { return len(s.sites.Load().probes) }
