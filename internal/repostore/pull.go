package repostore

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// pull sets obj's declaration and st to the record's. A record that is not valid
// changes nothing but the stamp and condition RecordValid: the object keeps its
// last valid declaration.
func (s *Store) pull(obj runtime.Object, st *stamp, rec *atproto.Record, rev string) error {
	st.CID, st.Rev = rec.CID, rev
	remainder, err := s.decodeRecord(rec, obj)
	var invalid *InvalidRecordError
	switch {
	case errors.As(err, &invalid):
		metrics.DecodeError(s.mapper.Collection())
		invalid = invalid.clipped()
		st.Invalid = invalid.Error()
		s.setCondition(obj, invalidCondition(rec.CID, invalid))
		return s.setRecordStatus(obj, *st, Pulled)
	case err != nil:
		return err
	}
	if st.Remainder, err = encodeRemainder(remainder); err != nil {
		return err
	}
	if st.Status, err = statusDigest(rec.Value); err != nil {
		return err
	}
	if st.Invalid != "" {
		s.setCondition(obj, validCondition())
	}
	st.Invalid = ""
	return s.setRecordStatus(obj, *st, Pulled)
}

// decodeRecord sets obj's declaration. A record without a value exists, but its
// bytes are not the atproto data model's.
func (s *Store) decodeRecord(rec *atproto.Record, obj runtime.Object) (map[string]any, error) {
	if rec.Value == nil {
		return nil, &InvalidRecordError{Reason: "its content is not atproto data (a float, or nested too deep)"}
	}
	b, err := json.Marshal(rec.Value)
	if err != nil {
		return nil, fmt.Errorf("measure record: %w", err)
	}
	if len(b) > maxRecordBytes {
		return nil, &InvalidRecordError{Reason: fmt.Sprintf("it takes %d bytes of JSON, and %d can be served", len(b), maxRecordBytes)}
	}
	return s.mapper.Decode(rec.Value, obj)
}

// maxRecordBytes is how large a record may be, as JSON, to be served. An atproto
// record has 1 MiB at most, as CBOR; etcd takes 1.5 MiB, and one record that it
// refuses must not keep all others of its repository from being read.
const maxRecordBytes = 1 << 20

func encodeRemainder(remainder map[string]any) (json.RawMessage, error) {
	if len(remainder) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(remainder)
	if err != nil {
		return nil, fmt.Errorf("encode remainder: %w", err)
	}
	return b, nil
}

// createdAt reads a record's self-declared time, never later than now.
func createdAt(record map[string]any, now time.Time) metav1.Time {
	s, _ := record["createdAt"].(string)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.After(now) {
		t = now
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

func (s *Store) annotate(accessor metav1.Object, ws string) {
	if ws == "" {
		return
	}
	a := accessor.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[ClusterAnnotation] = ws
	accessor.SetAnnotations(a)
}

func (s *Store) bumpGeneration(accessor metav1.Object) {
	if s.mapper.ManagesGeneration() {
		accessor.SetGeneration(accessor.GetGeneration() + 1)
	}
}
