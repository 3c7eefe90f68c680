// Package cgroups finds the control groups of version 2 that a [container.Selector] selects, also
// later ones, and keeps their ids in a map for programs.
package cgroups
