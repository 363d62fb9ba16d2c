// Package door names what the door for kcp's shards refuses for: the server says it as a
// cause in the API status, and whoever sets a kcp up can tell from it that it is this
// server that has answered, and what it lacks.
package door

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Causes of a refusal.
const (
	// CauseShardsOnly: the path is one of the door, and there is no certificate of an
	// authority of shards. Everybody may be told it.
	CauseShardsOnly metav1.CauseType = "ShardCertificateRequired"
	// CauseName: an authority of shards has signed the certificate, and its name isn't one
	// of those that are let in. It is told to the certificate's owner alone, as the next.
	CauseName metav1.CauseType = "ShardNameNotAllowed"
	// CauseElsewhere: the certificate is one of a shard that is let in, and the path isn't
	// one of the door.
	CauseElsewhere metav1.CauseType = "NotTheDoor"
)

// Details of a refusal with a cause.
func Details(cause metav1.CauseType) *metav1.StatusDetails {
	return &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: cause}}}
}

// Cause of a refusal; "": it has none of these.
func Cause(s *metav1.Status) metav1.CauseType {
	if s == nil || s.Details == nil {
		return ""
	}
	for _, c := range s.Details.Causes {
		switch c.Type {
		case CauseShardsOnly, CauseName, CauseElsewhere:
			return c.Type
		}
	}
	return ""
}
