package record

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/lexicons"
	"socialweb.computer/infra-apiserver/internal/repostore"
	schemas "socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// Infra maps the kind Infra to the collection computer.socialweb.infra.
func Infra() repostore.RecordMapper {
	return mapper{
		collection: schemas.Infra,
		new:        func() runtime.Object { return &socialweb.Infra{} },
		parts: func(obj runtime.Object) parts {
			o := obj.(*socialweb.Infra)
			return parts{meta: &o.ObjectMeta, spec: &o.Spec, status: &o.Status}
		},
	}
}

// EphemeralInfra maps the kind EphemeralInfra to the collection
// computer.socialweb.ephemeralInfra.
func EphemeralInfra() repostore.RecordMapper {
	return mapper{
		collection: schemas.EphemeralInfra,
		new:        func() runtime.Object { return &socialweb.EphemeralInfra{} },
		parts: func(obj runtime.Object) parts {
			o := obj.(*socialweb.EphemeralInfra)
			return parts{
				meta: &o.ObjectMeta, spec: &o.Spec.InfraSpec, status: &o.Status.InfraStatus,
				ephemeral: &o.Spec, ephemeralStatus: &o.Status,
			}
		},
	}
}

// parts of an object, in place; the last two are nil for an Infra.
type parts struct {
	meta            *metav1.ObjectMeta
	spec            *socialweb.InfraSpec
	status          *socialweb.InfraStatus
	ephemeral       *socialweb.EphemeralInfraSpec
	ephemeralStatus *socialweb.EphemeralInfraStatus
}

type mapper struct {
	collection string
	new        func() runtime.Object
	parts      func(runtime.Object) parts
}

var _ repostore.RecordMapper = mapper{}

// Collection implements repostore.RecordMapper.
func (m mapper) Collection() string { return m.collection }

// New implements repostore.RecordMapper.
func (m mapper) New() runtime.Object { return m.new() }

// ManagesGeneration implements repostore.RecordMapper.
func (m mapper) ManagesGeneration() bool { return true }

// Declaration implements repostore.RecordMapper.
func (m mapper) Declaration(obj runtime.Object) (map[string]any, error) {
	return declaration(m.parts(obj), nil), nil
}

// Encode implements repostore.RecordMapper. The record follows its lexicon, or
// the error is an atproto.ErrInvalidRecord.
func (m mapper) Encode(obj runtime.Object, rest map[string]any) (map[string]any, error) {
	p, r := m.parts(obj), readRemainder(rest)
	out := declaration(p, r.contracts)
	for k, v := range r.fields {
		out[k] = v
	}
	out["$type"] = m.collection
	if _, ok := out["createdAt"]; !ok && !p.meta.CreationTimestamp.IsZero() {
		out["createdAt"] = formatTime(p.meta.CreationTimestamp)
	}
	if status := encodeStatus(p); len(status) > 0 {
		out["status"] = status
	}
	if err := lexicons.ValidateAs(m.collection, out); err != nil {
		return nil, fmt.Errorf("%w: %w", atproto.ErrInvalidRecord, err)
	}
	return out, nil
}

// Decode implements repostore.RecordMapper.
func (m mapper) Decode(record map[string]any, obj runtime.Object) (map[string]any, error) {
	clean := withoutNulls(record)
	delete(clean, "status") // ours: whatever another client put there is replaced, not obeyed
	p := m.parts(obj)
	d, faults := decodeDeclaration(clean, p.ephemeral != nil)
	if err := lexicons.ValidateAs(m.collection, clean); err != nil {
		var broken *lexicons.InvalidError
		if !errors.As(err, &broken) {
			return nil, err
		}
		faults = mergeFaults(shapeFaults(m.collection, clean), faults)
		if len(faults) == 0 { // a fault that the lexicon's validator alone knows
			return nil, &repostore.InvalidRecordError{Field: broken.Field, Reason: broken.Reason}
		}
	}
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	p.spec.Description, p.spec.Contracts = d.Description, d.Contracts
	if p.ephemeral != nil {
		p.ephemeral.TTLSeconds, p.ephemeral.EndWhen = d.TTLSeconds, d.EndWhen
	}
	return remainderOf(clean, p.ephemeral != nil).value(), nil
}

// FirstSight implements repostore.RecordMapper. The expiry is fixed here, once:
// by what we had published ourselves, else by the creation time. A record that had
// expired when it was first seen is somebody else's: the API makes none.
func (m mapper) FirstSight(obj runtime.Object, s repostore.Sight) {
	p := m.parts(obj)
	if s.Ours {
		decodeStatus(s.Record, p)
	}
	if p.ephemeral == nil || s.Late && p.ephemeralStatus.ExpiresAt != nil {
		return
	}
	fixExpiry(p, s.Now)
	at := p.ephemeralStatus.ExpiresAt
	if s.Record != nil && at != nil && !s.First.IsZero() && !at.After(s.First) {
		meta.SetStatusCondition(&p.status.Conditions, metav1.Condition{
			Type: socialweb.ConditionExpiredAtFirstSight, Status: metav1.ConditionTrue, Reason: socialweb.ReasonExpired,
			Message:            fmt.Sprintf("it expired at %s and was first seen at %s: it is shown, and never runs", formatTime(*at), formatTime(metav1.NewTime(s.First))),
			LastTransitionTime: metav1.NewTime(s.Now.Truncate(time.Second)),
		})
	}
}

// fixExpiry sets the expiry where there is none.
func fixExpiry(p parts, now time.Time) {
	if p.ephemeralStatus.ExpiresAt != nil || p.ephemeral.TTLSeconds == nil {
		return
	}
	created := p.meta.CreationTimestamp.Time
	if created.IsZero() {
		created = now
	}
	at := metav1.NewTime(created.Add(time.Duration(*p.ephemeral.TTLSeconds) * time.Second).Truncate(time.Second))
	p.ephemeralStatus.ExpiresAt = &at
}

// Conditions implements repostore.RecordMapper.
func (m mapper) Conditions(obj runtime.Object) *[]metav1.Condition {
	return &m.parts(obj).status.Conditions
}

// Binding implements repostore.RecordMapper.
func (m mapper) Binding(obj runtime.Object) repostore.Binding {
	b := m.parts(obj).spec.Record
	if b == nil {
		return repostore.Binding{}
	}
	return repostore.Binding{RepoName: b.RepoRef.Name, URI: b.URI, Retain: b.DeletionPolicy == socialweb.DeletionRetain}
}

// SetBinding implements repostore.RecordMapper.
func (m mapper) SetBinding(obj runtime.Object, b repostore.Binding) {
	spec := m.parts(obj).spec
	if b.RepoName == "" {
		spec.Record = nil
		return
	}
	policy := socialweb.DeletionDelete
	if b.Retain {
		policy = socialweb.DeletionRetain
	}
	spec.Record = &socialweb.RecordBinding{RepoRef: socialweb.RepoReference{Name: b.RepoName}, URI: b.URI, DeletionPolicy: policy}
}

// RecordStatus implements repostore.RecordMapper.
func (m mapper) RecordStatus(obj runtime.Object) *repostore.RecordStatus {
	r := m.parts(obj).status.Record
	if r == nil {
		return nil
	}
	out := &repostore.RecordStatus{
		URI: r.URI, CID: r.CID, Rev: r.Rev, DeclarationHash: r.DeclarationHash, Direction: repostore.Direction(r.Direction),
	}
	if r.SyncedAt != nil {
		out.SyncedAt = *r.SyncedAt
	}
	return out
}

// SetRecordStatus implements repostore.RecordMapper.
func (m mapper) SetRecordStatus(obj runtime.Object, r *repostore.RecordStatus) {
	status := m.parts(obj).status
	if r == nil {
		status.Record = nil
		return
	}
	at := r.SyncedAt
	status.Record = &socialweb.RecordStatus{
		URI: r.URI, CID: r.CID, Rev: r.Rev, DeclarationHash: r.DeclarationHash,
		Direction: socialweb.SyncDirection(r.Direction), SyncedAt: &at,
	}
}
