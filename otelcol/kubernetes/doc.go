// Package kubernetes checks the files of deploy by the types of Kubernetes' API. It is a module of its own, since
// nothing else needs these.
package kubernetes
