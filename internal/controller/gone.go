package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isGone tells whether a server says that an object isn't there. A 404 that it didn't
// write itself says less: a kind that isn't served (any more, or in this workspace), an
// API that is away from the aggregator, a proxy that knows no way. What was held may run
// on behind it.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// ignoreGone is for what is done once its object isn't there any more.
func ignoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}
