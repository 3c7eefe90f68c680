// Package owned makes and opens directories and files that only this user and root can
// write to, and follows no symbolic link there. It is for Linux.
package owned
