// Package top is the screen of "sdttrace top": a table of probes by how often they
// fire, and what is looked at of one of them. It draws and takes keys; what is counted
// and traced comes from a [Source].
package top
