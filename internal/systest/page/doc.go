// Package page tests the pages of sdttrace page and sdttrace serve, in a browser: it clicks,
// presses keys, reads what is shown, and compares that with what was fired.
package page
