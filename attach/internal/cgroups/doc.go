// Package cgroups finds the control groups that a [container.Selector] selects, also
// later ones, and keeps their ids in a map for programs.
package cgroups
