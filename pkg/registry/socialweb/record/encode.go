package record

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// declaration is the part of the record that either side may change. extra are
// the unknown fields of contracts, by name; without them it is the canonical
// form that is hashed. Empty optional fields are left out.
func declaration(p parts, extra map[string]map[string]any) map[string]any {
	out := map[string]any{}
	put(out, "description", p.spec.Description)
	contracts := make([]any, 0, len(p.spec.Contracts))
	for i := range p.spec.Contracts {
		c := &p.spec.Contracts[i]
		m := encodeContract(c)
		for k, v := range extra[c.Name] {
			m[k] = v
		}
		contracts = append(contracts, m)
	}
	out["contracts"] = contracts
	if p.ephemeral != nil {
		if p.ephemeral.TTLSeconds != nil {
			out["ttlSeconds"] = int64(*p.ephemeral.TTLSeconds)
		}
		put(out, "endWhen", strings.ToLower(string(p.ephemeral.EndWhen)))
	}
	return out
}

func encodeContract(c *socialweb.Contract) map[string]any {
	state := c.State
	if state == "" {
		state = socialweb.ContractStaged
	}
	out := map[string]any{"name": c.Name, "state": strings.ToLower(string(state))}
	put(out, "vmName", c.VMName)
	putStrings(out, "bidderDids", c.BidderDIDs)
	putStrings(out, "denyBidderDids", c.DenyBidderDIDs)
	putStrings(out, "sshAuthorizedKeys", c.SSHAuthorizedKeys)
	put(out, "userData", c.UserData)
	put(out, "policy", c.Policy)
	putStrings(out, "policyArgs", c.PolicyArgs)
	if c.VMReadyTimeoutSec != nil {
		out["vmReadyTimeoutSec"] = int64(*c.VMReadyTimeoutSec)
	}
	return out
}

// encodeStatus is the published part of the observed status; an object that
// nobody has observed yet publishes none.
func encodeStatus(p parts) map[string]any {
	out := map[string]any{}
	put(out, "phase", strings.ToLower(string(p.status.Phase)))
	var contracts []any
	for _, c := range p.status.Contracts {
		m := map[string]any{"name": c.Name, "phase": strings.ToLower(string(c.Phase))}
		put(m, "winner", c.Winner)
		put(m, "receipt", c.Receipt)
		put(m, "message", c.Message)
		contracts = append(contracts, m)
	}
	if len(contracts) > 0 {
		out["contracts"] = contracts
	}
	if p.ephemeralStatus != nil && p.ephemeralStatus.ExpiresAt != nil {
		out["expiresAt"] = formatTime(*p.ephemeralStatus.ExpiresAt)
	}
	return out
}

func put(m map[string]any, key, value string) {
	if value != "" {
		m[key] = value
	}
}

func putStrings(m map[string]any, key string, values []string) {
	if len(values) == 0 {
		return
	}
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	m[key] = out
}

// formatTime is the datetime format of lexicons, in UTC and whole seconds, as
// metadata.creationTimestamp has it: rendering twice gives the same bytes.
func formatTime(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
