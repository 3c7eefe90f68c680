package usdtreceiver

// Waiting returns how many spans wait for the ones around them.
func Waiting() int {
	nests.mu.Lock()
	defer nests.mu.Unlock()
	return nests.n
}
