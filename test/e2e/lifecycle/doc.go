// Package lifecycle tests how the server starts, is refused, rotates its
// certificates and ends, on a control plane of its own: the cases take away what
// others need.
package lifecycle
