// Package container knows what the path of a control group says of a container and its pod, and
// the names that container runtimes and the kubelet keep of them in files.
package container
