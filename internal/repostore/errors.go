package repostore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// The sentinels of this package, beside those of package atproto and the
// storage errors of k8s.io/apiserver.
var (
	// ErrContended: a write lost its swap or its lock too often.
	ErrContended = errors.New("too many writes at once")
	// ErrRecordWon: an edit made elsewhere stands against this write.
	ErrRecordWon = errors.New("an edit of the record made elsewhere won")
	// ErrOvertaken: the put stands, or may, but this write couldn't finish it: others
	// settled or changed the object before, or etcd failed. The caller must read.
	ErrOvertaken = errors.New("written, but not confirmed")
	// ErrBusy: another write of this record is in flight.
	ErrBusy = errors.New("a write of this record is in flight")
	// ErrNotMounted: the object's repository is not (yet) served by this process.
	ErrNotMounted = errors.New("repository not mounted")
	// ErrWentBack: the PDS shows the repository as it was before something that was
	// read of it already: it was restored from a backup, or answers from an old
	// copy. The repository's next commit, whose rev is later than all, heals it.
	ErrWentBack = errors.New("the repository went back behind what was read of it; its next commit will be read again")
	// ErrAccess: the repository's access does not allow this.
	ErrAccess = errors.New("access does not allow it")
	// ErrRecordInvalid: the record is not valid and a write would replace what it
	// holds.
	ErrRecordInvalid = errors.New("the record is not valid")
	// ErrDeclarationFrozen: the record is gone and the object is terminating.
	ErrDeclarationFrozen = errors.New("the record was deleted, the declaration can't change any more")
	// ErrNoSuchRepo: spec.record names a repository that the workspace lacks.
	ErrNoSuchRepo = errors.New("no such AtprotoRepo in this workspace")
	// ErrNoSuchRecord: spec.record.uri names a record that does not exist.
	ErrNoSuchRecord = errors.New("no such record")
	// ErrDetachedExists: the object's record exists, unbound or retained, and is
	// served by no object.
	ErrDetachedExists = errors.New("the record exists already, detached")
	// ErrBinding: spec.record asks for what can't be.
	ErrBinding = errors.New("the record can't be bound")
	// ErrTTL: a record can't vanish by a lease.
	ErrTTL = errors.New("a time to live is not supported for objects that are records")
)

// stood is what a client is told of err, which came after a write of a record that is
// committed, or may be: never that nothing was written. What is over etcd's limit stays
// that, for the object has to become smaller first.
func stood(verb string, uri recordURI, err error) error {
	if err == nil || errors.Is(err, ErrOvertaken) || errors.Is(err, errOverLimit) {
		return err
	}
	return fmt.Errorf("%s %s: %w: %w", verb, uri, ErrOvertaken, err)
}

// retryAfter is what we ask of clients where nothing better is known.
const retryAfter = time.Second

// ToAPIError is the one map from what can go wrong below to what a client of the
// API is told. name is the object's; errors that are API or storage errors
// already pass.
func ToAPIError(err error, gr schema.GroupResource, name string) error {
	var status apierrors.APIStatus
	var storageErr *storage.StorageError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrOvertaken): // whatever came after it, the put stands
		return apierrors.NewTimeoutError(err.Error(), seconds(retryAfter))
	case errors.As(err, &status), errors.As(err, &storageErr), storage.IsInternalError(err):
		return err
	case errors.Is(err, context.Canceled) && !errors.Is(err, errStopping): // the client has gone
		return err
	case errors.Is(err, atproto.ErrInvalidSwap), errors.Is(err, ErrContended), errors.Is(err, ErrRecordWon),
		errors.Is(err, ErrRecordInvalid), errors.Is(err, ErrDeclarationFrozen):
		return apierrors.NewConflict(gr, name, err)
	case errors.Is(err, ErrAccess):
		return apierrors.NewForbidden(gr, name, err)
	case errors.Is(err, atproto.ErrRateLimited):
		return apierrors.NewTooManyRequests(err.Error(), seconds(atproto.RetryAfter(err)))
	case errors.Is(err, atproto.ErrUnknownOutcome), errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError(err.Error(), seconds(retryAfter))
	case errors.Is(err, errOverLimit):
		return overLimitError{apierrors.NewRequestEntityTooLargeError(err.Error())}
	case errors.Is(err, atproto.ErrTooLarge):
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	case errors.Is(err, ErrDetachedExists):
		exists := apierrors.NewAlreadyExists(gr, name)
		exists.ErrStatus.Message += ": " + err.Error()
		return exists
	case errors.Is(err, ErrNoSuchRepo), errors.Is(err, ErrNoSuchRecord), errors.Is(err, ErrBinding), errors.Is(err, ErrTTL),
		errors.Is(err, atproto.ErrInvalidRecord):
		return unprocessable(gr, name, fieldOf(err), err)
	default:
		// The PDS or etcd: not the object's fault, so never a 404, and worth a retry.
		return unavailable(err)
	}
}

func seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

func unavailable(err error) error {
	e := apierrors.NewServiceUnavailable(err.Error())
	e.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds(retryAfter))}
	return e
}

// fieldOf is the field that a refused binding or record is about.
func fieldOf(err error) string {
	switch {
	case errors.Is(err, ErrNoSuchRepo):
		return "spec.record.repoRef.name"
	case errors.Is(err, ErrNoSuchRecord):
		return "spec.record.uri"
	case errors.Is(err, atproto.ErrInvalidRecord):
		return "spec"
	default:
		return "spec.record"
	}
}

func unprocessable(gr schema.GroupResource, name, field string, err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: name,
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: err.Error()}}},
		Message: fmt.Sprintf("%s %q is invalid: %s: %v", gr.String(), name, field, err),
	}}
}
