// Package soak has the cases that need minutes or hours, on a control plane of their
// own: `make soak` runs them. Each logs its figures as rows of a table.
package soak
