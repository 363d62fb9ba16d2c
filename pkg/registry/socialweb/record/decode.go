package record

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// decodeDeclaration reads the declaration of a record, with the API's defaults,
// and holds it to the API's rules. What has the wrong type reads as empty: the
// lexicon tells of it, see shapeFaults.
func decodeDeclaration(record map[string]any, ephemeral bool) (*socialweb.EphemeralInfraSpec, field.ErrorList) {
	d := &socialweb.EphemeralInfraSpec{}
	d.Description = text(record, "description")
	d.Contracts = []socialweb.Contract{}
	var faults field.ErrorList
	list, _ := record["contracts"].([]any)
	for i, e := range list {
		m, _ := e.(map[string]any)
		c, fault := decodeContract(m, field.NewPath("contracts").Index(i))
		faults = append(faults, fault...)
		d.Contracts = append(d.Contracts, c)
	}
	if !ephemeral {
		return d, append(faults, validation.ValidateDeclaration(&d.InfraSpec, nil)...)
	}
	ttl := int32(defaultTTL)
	if v := number(record, "ttlSeconds"); v != nil {
		ttl = *v
	}
	d.TTLSeconds, d.EndWhen = &ttl, socialweb.EndComplete
	if v := text(record, "endWhen"); v != "" {
		end, ok := endings[v]
		if !ok {
			faults = append(faults, field.NotSupported(field.NewPath("endWhen"), shorten(v), []string{"complete", "deadline"}))
			end = socialweb.EndComplete
		}
		d.EndWhen = end
	}
	return d, append(faults, validation.ValidateEphemeralDeclaration(d, nil)...)
}

// decodeContract reads one contract; only its state is judged here, for the
// record spells it another way than the API does.
func decodeContract(m map[string]any, path *field.Path) (socialweb.Contract, field.ErrorList) {
	var faults field.ErrorList
	state, ok := states[text(m, "state")]
	if !ok {
		state = socialweb.ContractStaged
		at, known := path.Child("state"), []string{"staged", "requested", "released"}
		if v, there := m["state"]; there {
			word, _ := v.(string)
			faults = append(faults, field.NotSupported(at, shorten(word), known))
		} else {
			faults = append(faults, field.Required(at, "say what is wanted of the contract: staged, requested or released"))
		}
	}
	return socialweb.Contract{
		Name: text(m, "name"), State: state, VMName: text(m, "vmName"),
		BidderDIDs: texts(m, "bidderDids"), DenyBidderDIDs: texts(m, "denyBidderDids"),
		SSHAuthorizedKeys: texts(m, "sshAuthorizedKeys"), UserData: text(m, "userData"),
		Policy: text(m, "policy"), PolicyArgs: texts(m, "policyArgs"),
		VMReadyTimeoutSec: number(m, "vmReadyTimeoutSec"),
	}, faults
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

// texts keeps the places of the items: one that is no string reads as empty.
func texts(m map[string]any, key string) []string {
	list, _ := m[key].([]any)
	var out []string
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

// number is nil where there is none. One that is out of any bounds reads as the
// farthest that the API can hold, which is out of its bounds too.
func number(m map[string]any, key string) *int32 {
	v, ok := m[key].(int64)
	if !ok {
		return nil
	}
	n := int32(min(max(v, math.MinInt32), math.MaxInt32))
	return &n
}
