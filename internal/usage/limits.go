package usage

import "fmt"

// Limits of every workspace that has any. 0: there is none.
type Limits struct {
	// Objects of all kinds together.
	Objects int
	// Bytes that the objects take in etcd, encoded.
	Bytes int64
}

func (l Limits) any() bool { return l.Objects > 0 || l.Bytes > 0 }

// The names of the limits.
const (
	Objects = "objects"
	Bytes   = "bytes"
)

// ExceededError refuses a write that would pass a limit of its workspace.
type ExceededError struct {
	// Workspace whose limit it is.
	Workspace string
	// Limit is Objects or Bytes.
	Limit string
	// Requested is what the write would add, Used what there is, Max the limit.
	Requested, Used, Max int64
}

// Error is in the words that Kubernetes has for quotas.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("exceeded quota: workspace %s, requested: %[2]s=%[3]d, used: %[2]s=%[4]d, limited: %[2]s=%[5]d", e.Workspace, e.Limit, e.Requested, e.Used, e.Max)
}
