package atproto

import (
	"errors"
	"fmt"
	"io"
)

// limitedReader reads at most left bytes, and remembers whether reading failed,
// so that a broken connection is told apart from bad content.
type limitedReader struct {
	r      io.Reader
	left   int64
	failed error
}

// Read implements io.Reader. Content over the limit is ErrBadData.
func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		// Exactly the limit is allowed: only a further byte is too much.
		var one [1]byte
		n, err := l.r.Read(one[:])
		if n > 0 {
			return 0, fmt.Errorf("%w: answer over the size limit", ErrBadData)
		}
		return 0, l.note(err)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, l.note(err)
}

func (l *limitedReader) note(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	return err
}
