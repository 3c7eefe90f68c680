// Package discover finds the probe sites that selectors name: in files, in processes
// that were named, and in all that the machine runs, once or again and again. It
// attaches to nothing and decides nothing about a site.
package discover
