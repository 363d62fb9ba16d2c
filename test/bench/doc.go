// Package bench measures the server against the PDS that it stands in front of,
// each pair side by side in one run, and prints ratios. `make bench` runs it and
// writes docs/benchmarks.md. Nothing here passes or fails by its time.
package bench
