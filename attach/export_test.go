package attach

// TellsNestedPIDs reports whether the PIDs of processes in a namespace within this
// process's are known.
func TellsNestedPIDs() bool {
	ns := ownPIDNamespace()
	return ns == nil || ns.nested != nil
}
