package testhttp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is what came back, read to its end.
type Answer struct {
	// Status is the HTTP status.
	Status int
	// Header of the answer.
	Header http.Header
	// Proto is the protocol it came by, as HTTP/2.0.
	Proto string
	// Body, unpacked.
	Body []byte
	// Fault is the Status that a refusal has for its body; the zero value where the answer
	// is a success, or its body a text or anything else.
	Fault metav1.Status
}

// Want is nil where the answer has this status, and otherwise tells its own and its body.
func (a Answer) Want(status int) error {
	if a.Status == status {
		return nil
	}
	return fmt.Errorf("%d %s, want %d", a.Status, a.Body, status)
}

// Read reads an answer to its end, and closes it. Where that fails, the answer has what
// came before.
func Read(resp *http.Response) (Answer, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read
	out := Answer{Status: resp.StatusCode, Header: resp.Header, Proto: resp.Proto}
	body, err := unpacked(resp)
	if err != nil {
		return out, err
	}
	if out.Body, err = io.ReadAll(body); err != nil {
		return out, err
	}
	if out.Status >= http.StatusBadRequest {
		if s, ok := failure(out.Body); ok {
			out.Fault = s
		}
	}
	return out, nil
}

// unpacked is the body, of a client that leaves it packed too.
func unpacked(resp *http.Response) (io.Reader, error) {
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return resp.Body, nil
	}
	return gzip.NewReader(resp.Body)
}

// failure is the Status that says that something failed; false: the body is another
// thing.
func failure(body []byte) (metav1.Status, bool) {
	var s metav1.Status
	if !bytes.Contains(body, []byte(`"`+metav1.StatusFailure+`"`)) || json.Unmarshal(body, &s) != nil || s.Kind != "Status" || s.Status != metav1.StatusFailure {
		return metav1.Status{}, false
	}
	return s, true
}
