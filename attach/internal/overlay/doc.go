// Package overlay distinguishes files of overlay file systems as the kernel does
// when it places uprobes: by the inode of the layer below, which several overlays share.
package overlay
