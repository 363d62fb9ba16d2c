package testhttp

import (
	"encoding/json"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shown is how much of a body a failed test shows.
const shown = 1000

// Unmarshal reads a JSON body. A Status that says Failure is no object, though it may look
// like one: it is returned as an *apierrors.StatusError, unless it is what into is for.
func Unmarshal(body []byte, into any) error {
	if _, wanted := into.(*metav1.Status); !wanted {
		if s, failed := failure(body); failed {
			return fmt.Errorf("a failure in place of %T: %w", into, &apierrors.StatusError{ErrStatus: s})
		}
	}
	return json.Unmarshal(body, into)
}

// Decode is Unmarshal for tests: they fail, with the body, where it isn't a T.
func Decode[T any, B ~string | ~[]byte](t testing.TB, body B) T {
	t.Helper()
	var out T
	if err := Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v in %.*s", err, shown, body)
	}
	return out
}

// Encode writes a JSON body.
func Encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
