package repos

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A spec whose event source can't be had is told by the conditions of its own
// generation, whether or not an earlier spec was applied; what was mounted stays.
func TestSpecThatCantBeApplied(t *testing.T) {
	const did, pds = "did:plc:alicealicealicealicealic", "https://pds.example"
	boom := errors.New("no Jetstream anywhere")
	for name, before := range map[string]v1alpha1.EventSourceType{"from the start": "", "after another": v1alpha1.EventSourceFirehose} {
		t.Run(name, func(t *testing.T) {
			hub := &scribe{}
			m := New(Config{
				Hub: hub, Identities: &plc{pds: map[string]string{did: pds}}, Leading: func() bool { return false },
				Budgets: atproto.NewBudgets(atproto.BudgetOptions{}),
			})
			defer m.shutDown()
			m.sources = newSources(func(k SourceKey) (events.Source, error) {
				if k.Type == v1alpha1.EventSourceJetstream {
					return nil, boom
				}
				return &runner{began: make(chan struct{}), ended: make(chan struct{})}, nil
			})
			m.sources.start(t.Context())
			k, obj := key{"ws", "a"}, named("ws", "a")
			obj.Spec.DID, obj.Spec.PDS, obj.Spec.Access = did, pds, v1alpha1.AccessRead
			reconcile := func(source v1alpha1.EventSourceType) (*v1alpha1.AtprotoRepoStatus, error) {
				obj = obj.DeepCopy()
				obj.Spec.EventSource = source
				obj.Generation++
				if err := m.mirror.Replace([]any{obj}, "1"); err != nil {
					t.Fatal(err)
				}
				_, err := m.reconcile(t.Context(), k)
				return m.observe(k, m.repoFor(k), obj), err
			}
			if before != "" {
				if _, err := reconcile(before); err != nil {
					t.Fatal(err)
				}
			}
			st, err := reconcile(v1alpha1.EventSourceJetstream)
			if !errors.Is(err, boom) {
				t.Errorf("reconciled: %v", err)
			}
			for kind, reason := range map[string]string{v1alpha1.ConditionReady: "NotApplied", v1alpha1.ConditionStreaming: "NotConfigured"} {
				c := meta.FindStatusCondition(st.Conditions, kind)
				if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || c.ObservedGeneration != obj.Generation || !strings.Contains(c.Message, boom.Error()) {
					t.Errorf("%s: %+v", kind, c)
				}
			}
			if slices.Contains(hub.notes, "remove a") {
				t.Errorf("what was mounted: %q", hub.notes)
			}
			st, err = reconcile(v1alpha1.EventSourceFirehose)
			if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady); err != nil || c.Reason == "NotApplied" {
				t.Errorf("once it can be: %v, %+v", err, c)
			}
		})
	}
}
