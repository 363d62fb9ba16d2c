// Package image builds the server's container image as an OCI layout, from nothing
// but the static program, the authorities that browsers trust, and the names of two
// users. It needs no container engine and no base image, and the same inputs make
// the same bytes.
package image
