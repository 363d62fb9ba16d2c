package devpds

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-car"
	carutil "github.com/ipld/go-car/util"
)

// carWriter writes a CAR v1 file with one root.
type carWriter struct{ w io.Writer }

// newCAR writes the header.
func newCAR(w io.Writer, root cid.Cid) (*carWriter, error) {
	if err := car.WriteHeader(&car.CarHeader{Roots: []cid.Cid{root}, Version: 1}, w); err != nil {
		return nil, fmt.Errorf("write CAR header: %w", err)
	}
	return &carWriter{w}, nil
}

// put writes a block.
func (c *carWriter) put(id cid.Cid, data []byte) error {
	if err := carutil.LdWrite(c.w, id.Bytes(), data); err != nil {
		return fmt.Errorf("write CAR block: %w", err)
	}
	return nil
}

// carFile is a CAR of some blocks.
func carFile(root cid.Cid, blocks []carBlock) ([]byte, error) {
	var buf bytes.Buffer
	w, err := newCAR(&buf, root)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if err := w.put(b.cid, b.data); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

// carBlock is a block of a CAR.
type carBlock struct {
	cid  cid.Cid
	data []byte
}
