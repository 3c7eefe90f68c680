// Package screen tests what sdttrace draws on a terminal, by the keys that a user
// presses: the terminal is tmux's.
package screen
