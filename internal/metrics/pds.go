package metrics

import (
	"strconv"
	"time"
)

var (
	pdsRequests = histogram("pds_request_duration_seconds",
		"Time until a PDS answered an XRPC request, by the method's NSID and the HTTP status; code <error> is no answer.",
		[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "method", "code")
	pdsRefusals = counter("pds_requests_refused_total",
		"Requests to a PDS that were not sent: a 429 had paused its host or account, or our own rate was used up.", "reason")
)

// PDSRequest counts a request that was sent; status 0: no answer came.
func PDSRequest(method string, status int, took time.Duration) {
	pdsRequests.WithLabelValues(method, code(status)).Observe(took.Seconds())
}

// noAnswer is the code of a request without an answer, as client-go has it.
const noAnswer = "<error>"

// told are the statuses that are told apart. A PDS chooses what it answers, so
// any other counts for its class.
var told = map[int]bool{200: true, 400: true, 401: true, 403: true, 404: true, 413: true, 429: true, 500: true, 502: true, 503: true, 504: true}

func code(status int) string {
	switch {
	case told[status]:
		return strconv.Itoa(status)
	case status < 100 || status > 599:
		return noAnswer
	default:
		return strconv.Itoa(status/100) + "xx"
	}
}

// Reasons why a request to a PDS is not sent.
const (
	// RefusedHost: a 429 has paused the host.
	RefusedHost = "host_paused"
	// RefusedAccount: a 429 has paused the account's writes.
	RefusedAccount = "account_paused"
	// RefusedRate: our own rate for the host is used up.
	RefusedRate = "own_rate"
)

// PDSRefused counts a request that was not sent, by one of the reasons above.
func PDSRefused(reason string) { pdsRefusals.WithLabelValues(reason).Inc() }
