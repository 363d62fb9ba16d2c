package devpds

import (
	"fmt"
	"net/http"
)

// xrpcError is an answer other than success: HTTP status, error name, message.
// The names and texts are the reference PDS's.
type xrpcError struct {
	status        int
	name, message string
}

// Error implements error.
func (e *xrpcError) Error() string { return e.name + ": " + e.message }

// invalidRequest is 400 InvalidRequest.
func invalidRequest(format string, args ...any) *xrpcError {
	return badRequest("InvalidRequest", format, args...)
}

// badRequest is 400 with a name.
func badRequest(name, format string, args ...any) *xrpcError {
	return &xrpcError{http.StatusBadRequest, name, fmt.Sprintf(format, args...)}
}

// authRequired is 401; "" is the default name or message.
func authRequired(name, message string) *xrpcError {
	return &xrpcError{http.StatusUnauthorized, or(name, "AuthenticationRequired"), or(message, "Authentication Required")}
}

// internalError is the 500 that tells nothing.
func internalError() *xrpcError {
	return &xrpcError{http.StatusInternalServerError, "InternalServerError", "Internal Server Error"}
}

// invalidSwap is the answer to a swap that isn't met; current is "null" where
// there is none. what is "Record" or "Commit".
func invalidSwap(what, current string) *xrpcError {
	return badRequest("InvalidSwap", "%s was at %s", what, current)
}
