package kubectlinfra

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// exit ends the plugin with a code of its own.
type exit struct {
	code int
	// err is nil where nothing is left to be said.
	err error
}

// Error implements error.
func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives the cause.
func (e *exit) Unwrap() error { return e.err }

// describe says an error in kubectl's words, and gives the exit code.
func describe(err error) (string, int) {
	if e, ok := errors.AsType[*exit](err); ok {
		if e.err == nil {
			return "", e.code
		}
		return words(e.err), e.code
	}
	return words(err), 1
}

func words(err error) string {
	var status apierrors.APIStatus
	var dial *url.Error
	switch {
	case errors.As(err, &status):
		return statusWords(err, status.Status())
	case clientcmd.IsConfigurationInvalid(err):
		return "Error in configuration: " + err.Error()
	case errors.As(err, &dial):
		if strings.Contains(dial.Err.Error(), "connection refused") {
			host := dial.URL
			if u, err := url.Parse(dial.URL); err == nil {
				host = u.Host
			}
			return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
		}
		return "Unable to connect to the server: " + dial.Err.Error()
	case strings.HasPrefix(err.Error(), "error: "):
		return err.Error()
	}
	return "error: " + err.Error()
}

func statusWords(err error, s metav1.Status) string {
	switch {
	case s.Reason == metav1.StatusReasonInvalid && s.Details != nil && len(s.Details.Causes) > 0:
		head := fmt.Sprintf("The %s %q is invalid: ", s.Details.Kind, s.Details.Name)
		if c := s.Details.Causes; len(c) == 1 {
			return head + c[0].Field + ": " + c[0].Message
		}
		var lines strings.Builder
		lines.WriteString(head)
		for _, c := range s.Details.Causes {
			fmt.Fprintf(&lines, "\n* %s: %s", c.Field, c.Message)
		}
		return lines.String()
	case s.Reason == metav1.StatusReasonUnauthorized:
		return fmt.Sprintf("error: You must be logged in to the server (%s)", s.Message)
	case s.Reason != "":
		return fmt.Sprintf("Error from server (%s): %s", s.Reason, err)
	}
	return "Error from server: " + err.Error()
}
