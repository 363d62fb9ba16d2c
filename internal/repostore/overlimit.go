package repostore

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// errOverLimit: what is to be written, an object or an intent with it, is over etcd's
// limit of a request (1.5 MiB by default).
var errOverLimit = fmt.Errorf("the object is over etcd's limit: %w", atproto.ErrTooLarge)

// overLimitError is what a client is told of errOverLimit: a 413, in which the handlers of
// patches and updates see etcd's refusal as well (isTooLargeError in
// k8s.io/apiserver/pkg/endpoints/handlers). They try once more without managedFields
// then, as with every other kind: who manages what must not keep an object from being
// changed.
type overLimitError struct{ *apierrors.StatusError }

// GRPCStatus is how etcd's client tells of a message that is too large.
func (overLimitError) GRPCStatus() *status.Status {
	return status.New(codes.ResourceExhausted, "trying to send message larger than max")
}

// Unwrap is the 413 alone.
func (e overLimitError) Unwrap() error { return e.StatusError }
