//go:build e2e

package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"time"
)

// line of a watch stream.
type line struct {
	at   time.Time
	text []byte
}

// read hands on every line with its time until the stream ends.
func read(ctx context.Context, r io.Reader, each func(line)) {
	for s := scanner(r); ctx.Err() == nil && s.Scan(); {
		each(line{time.Now(), bytes.Clone(s.Bytes())})
	}
}

// scanner of a stream whose lines may be an object long.
func scanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), 1<<20)
	return s
}
