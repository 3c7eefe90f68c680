package flagvalue

import "fmt"

// CheckPIDs returns what is wrong with the values of -p.
func CheckPIDs(pids []int) error {
	for _, pid := range pids {
		if pid <= 0 {
			return fmt.Errorf("process id %d is not positive", pid)
		}
	}
	return nil
}
