package apiserver

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"socialweb.computer/infra-apiserver/internal/usage"
)

// defaultMaxInflight is how many requests of one workspace may be at work unless
// --workspace-max-inflight says otherwise.
const defaultMaxInflight = 100

// defaultMaxWatches is how many watches a workspace may have unless
// --workspace-max-watches says otherwise. One costs some 50 KiB.
const defaultMaxWatches = 1000

// NewQuotaOptions returns the defaults.
func NewQuotaOptions() *QuotaOptions {
	return &QuotaOptions{MaxInflight: defaultMaxInflight, MaxWatches: defaultMaxWatches}
}

// QuotaOptions bound what each workspace may have, but for the default one, which has
// no limits. The zero value, and nil: no limits at all.
type QuotaOptions struct {
	// MaxObjects is how many objects of all kinds a workspace may have; 0: any number.
	MaxObjects int
	// MaxBytes is how many bytes they may take in etcd, as a quantity; "" and 0: any
	// number.
	MaxBytes string
	// WriteRate is how many writes a second a workspace may send through the door of
	// kcp; 0: any number.
	WriteRate float64
	// MaxInflight is how many of its requests, watches left out, may be at work at once
	// that came through that door; 0: any number.
	MaxInflight int
	// MaxWatches is how many watches it may have at once that came through that door; 0:
	// any number.
	MaxWatches int
}

// AddFlags binds the options to flags.
func (o *QuotaOptions) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.MaxObjects, "workspace-max-objects", o.MaxObjects,
		"Objects of all kinds that a workspace may have, the workspace default left out. 0: any number.")
	fs.StringVar(&o.MaxBytes, "workspace-max-bytes", o.MaxBytes,
		"Bytes that the objects of a workspace may take in etcd, like 64Mi; the workspace default left out. Empty: any number.")
	fs.Float64Var(&o.WriteRate, "workspace-write-rate", o.WriteRate,
		"Writes a second that a workspace may send through kcp, dry runs left out; at once twice as many, and 10 at least. 0: any number.")
	fs.IntVar(&o.MaxInflight, "workspace-max-inflight", o.MaxInflight,
		"Requests of a workspace, watches left out, that may be at work at once where they came through kcp. 0: any number.")
	fs.IntVar(&o.MaxWatches, "workspace-max-watches", o.MaxWatches,
		"Watches that a workspace may have at once where they came through kcp. 0: any number.")
}

// Validate tells everything that is wrong with the options.
func (o *QuotaOptions) Validate() []error {
	if o == nil {
		return nil
	}
	var errs []error
	if o.MaxObjects < 0 {
		errs = append(errs, fmt.Errorf("--workspace-max-objects %d: must not be negative: give a number, or 0 for any number", o.MaxObjects))
	}
	if _, err := o.maxBytes(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, checkRate("--workspace-write-rate", o.WriteRate, "0 for any number")...)
	if o.MaxInflight < 0 {
		errs = append(errs, fmt.Errorf("--workspace-max-inflight %d: must not be negative: give a number, or 0 for any number", o.MaxInflight))
	}
	if o.MaxWatches < 0 {
		errs = append(errs, fmt.Errorf("--workspace-max-watches %d: must not be negative: give a number, or 0 for any number", o.MaxWatches))
	}
	return errs
}

func (o *QuotaOptions) maxBytes() (int64, error) {
	if o.MaxBytes == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(o.MaxBytes)
	if err != nil || q.Sign() < 0 || q.CmpInt64(math.MaxInt64) > 0 {
		return 0, fmt.Errorf("--workspace-max-bytes %q: is not a number of bytes: write it like 64Mi, or leave it empty for any number", o.MaxBytes)
	}
	return q.Value(), nil
}

// limits are those of what a workspace may have.
func (o *QuotaOptions) limits() usage.Limits {
	if o == nil {
		return usage.Limits{}
	}
	bytes, err := o.maxBytes()
	if err != nil {
		bytes = 0 // Validate has told
	}
	return usage.Limits{Objects: o.MaxObjects, Bytes: bytes}
}
