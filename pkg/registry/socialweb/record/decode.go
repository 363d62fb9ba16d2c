package record

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
)

// Enumerations of the lexicons are open (knownValues), those of the API are not:
// a value that we don't know makes the record invalid for us.
var (
	states  = lower(socialweb.ContractStaged, socialweb.ContractRequested, socialweb.ContractReleased)
	endings = lower(socialweb.EndComplete, socialweb.EndDeadline)
	phases  = lower(socialweb.PhaseStaged, socialweb.PhaseDeploying, socialweb.PhaseDeployed, socialweb.PhaseReleasing,
		socialweb.PhaseReleased, socialweb.PhaseDegraded, socialweb.PhaseEnding, socialweb.PhaseDeleting)
	contractPhases = lower(socialweb.ContractPhaseStaged, socialweb.ContractPhaseRequesting, socialweb.ContractPhaseDeployed,
		socialweb.ContractPhaseReleasing, socialweb.ContractPhaseReleased, socialweb.ContractPhaseFailed)
)

func lower[T ~string](values ...T) map[string]T {
	out := make(map[string]T, len(values))
	for _, v := range values {
		out[strings.ToLower(string(v))] = v
	}
	return out
}

// defaultTTL is the default of ttlSeconds in lexicon and API.
const defaultTTL = 3600

// decodeDeclaration reads the declaration of a record that follows its lexicon,
// with the API's defaults, and holds it to the API's rules.
func decodeDeclaration(record map[string]any, ephemeral bool) (*socialweb.EphemeralInfraSpec, error) {
	d := &socialweb.EphemeralInfraSpec{}
	d.Description = text(record, "description")
	d.Contracts = []socialweb.Contract{}
	list, _ := record["contracts"].([]any)
	for i, e := range list {
		m, _ := e.(map[string]any)
		c, err := decodeContract(m, fmt.Sprintf("contracts[%d]", i))
		if err != nil {
			return nil, err
		}
		d.Contracts = append(d.Contracts, c)
	}
	if !ephemeral {
		return d, invalid(validation.ValidateDeclaration(&d.InfraSpec, nil))
	}
	ttl := int32(defaultTTL)
	if v, ok := record["ttlSeconds"].(int64); ok {
		ttl = int32(v) // within its bounds: the lexicon was checked
	}
	d.TTLSeconds, d.EndWhen = &ttl, socialweb.EndComplete
	if v := text(record, "endWhen"); v != "" {
		end, ok := endings[v]
		if !ok {
			return nil, unknown("endWhen", v, "complete or deadline")
		}
		d.EndWhen = end
	}
	return d, invalid(validation.ValidateEphemeralDeclaration(d, nil))
}

func decodeContract(m map[string]any, path string) (socialweb.Contract, error) {
	state, ok := states[text(m, "state")]
	if !ok {
		return socialweb.Contract{}, unknown(path+".state", text(m, "state"), "staged, requested or released")
	}
	c := socialweb.Contract{
		Name: text(m, "name"), State: state, VMName: text(m, "vmName"),
		BidderDIDs: texts(m, "bidderDids"), DenyBidderDIDs: texts(m, "denyBidderDids"),
		SSHAuthorizedKeys: texts(m, "sshAuthorizedKeys"), UserData: text(m, "userData"),
		Policy: text(m, "policy"), PolicyArgs: texts(m, "policyArgs"),
	}
	if v, ok := m["vmReadyTimeoutSec"].(int64); ok {
		timeout := int32(v)
		c.VMReadyTimeoutSec = &timeout
	}
	return c, nil
}

// decodeStatus reads back what we had published. It is lenient: what can't be
// read is observed anew.
func decodeStatus(record map[string]any, p parts) {
	status, _ := record["status"].(map[string]any)
	p.status.Phase = phases[text(status, "phase")]
	list, _ := status["contracts"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		phase, ok := contractPhases[text(m, "phase")]
		if !ok || text(m, "name") == "" {
			continue
		}
		p.status.Contracts = append(p.status.Contracts, socialweb.ContractStatus{
			Name: text(m, "name"), Phase: phase, Winner: text(m, "winner"), Receipt: text(m, "receipt"), Message: text(m, "message"),
		})
	}
	if p.ephemeralStatus == nil {
		return
	}
	if t, err := time.Parse(time.RFC3339, text(status, "expiresAt")); err == nil {
		at := metav1.NewTime(t)
		p.ephemeralStatus.ExpiresAt = &at
	}
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func texts(m map[string]any, key string) []string {
	list, _ := m[key].([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func unknown(path, value, want string) error {
	return &repostore.InvalidRecordError{Field: path, Reason: fmt.Sprintf("%q is not %s", value, want)}
}

// invalid reports the first fault: one remedy at a time.
func invalid(faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return &repostore.InvalidRecordError{Field: faults[0].Field, Reason: faults[0].ErrorBody()}
}
