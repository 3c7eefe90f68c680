// Package flagvalue has the values of flags that are neither numbers, times nor text.
package flagvalue
