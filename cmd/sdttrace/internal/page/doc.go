// Package page writes what was traced as a page for browsers: one HTML file that has all
// that it shows, and loads nothing, or a page that fetches updates from a server while it
// grows.
//
// Counts, rates, histograms, latencies and the flame graph are added up while events come,
// and are of all of them. The events themselves, for the table, are kept up to a number, the
// newest ones. They are in blocks, each compressed when it is full, so that a Page takes
// little memory.
package page
