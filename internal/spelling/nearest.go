// Package spelling finds which name a wrong word may have been meant for.
package spelling

import "strings"

// Nearest returns the one of names that a word may have been meant for, "" if none is near: the
// word is its beginning, or a third of its letters differ at most, and none of a single one.
func Nearest(word string, names []string) (nearest string) {
	least := max(1, (len(word)+1)/3) + 1
	if len(word) == 1 {
		least = 1 // another letter is another name
	}
	for _, name := range names {
		distance := Edits(strings.ToLower(word), name, least)
		if word != "" && strings.HasPrefix(name, word) {
			distance = 0
		}
		sameStem := strings.TrimRight(word, "0123456789") == strings.TrimRight(name, "0123456789") // arg7 is not meant for arg0
		if distance < least && !sameStem {
			nearest, least = name, distance
		}
	}
	return nearest
}

// NearestIs stands in front of the name that [Nearly] has found.
const NearestIs = "; the nearest is "

// Nearly returns what to say behind an error about a word, "" if no name is near.
func Nearly(word string, names []string) string {
	if nearest := Nearest(word, names); nearest != "" {
		return NearestIs + nearest
	}
	return ""
}
