// Package discover finds the probe sites that selectors name: in files, in named
// processes, and in all that the machine runs, once or repeatedly. It attaches to
// nothing and decides nothing about a site.
package discover
