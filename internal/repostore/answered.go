package repostore

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// unanswered is err, of a transaction that is a whole write: its outcome is unknown
// where etcd may have committed it all the same. An intent's is not told so, for
// without its put it does nothing.
func unanswered(err error) error {
	if !maybeCommitted(err) {
		return err
	}
	return fmt.Errorf("%w: %w", atproto.ErrUnknownOutcome, err)
}

// maybeCommitted tells whether etcd may have committed a transaction that failed with
// err. What it refused, and what never reached it, it has not.
func maybeCommitted(err error) bool {
	var told rpctypes.EtcdError
	if errors.As(err, &told) {
		switch {
		case errors.Is(err, rpctypes.ErrTimeout), errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail), errors.Is(err, rpctypes.ErrLeaderChanged),
			errors.Is(err, rpctypes.ErrTimeoutDueToConnectionLost), errors.Is(err, rpctypes.ErrStopped): // proposed, and not seen applied
			return true
		}
		return false
	}
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return false
	}
	switch s.Code() {
	case codes.Unavailable: // the connection went, or there was none
		return !strings.Contains(s.Message(), "while dialing") && !strings.Contains(s.Message(), "handshake failed")
	case codes.Unknown, codes.Internal, codes.Canceled, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}
